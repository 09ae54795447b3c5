package management

var acceptorClass = class("AcceptorControl", "An acceptor: where clients connect.", func(d *definition[Acceptor]) {
	d.attr("Name", String, "Name of the acceptor.", func(a Acceptor) any { return a.Name() })
	d.attr("FactoryClassName", String, "Class that stands for the kind of acceptor.", func(a Acceptor) any { return a.Factory() })
	d.attr("Parameters", Map, "Parameters of the acceptor.", func(a Acceptor) any {
		all := map[string]any{}
		for k, v := range a.Params() {
			all[k] = masked(k, v)
		}
		for k, v := range a.ExtraParams() {
			all[k] = masked(k, v)
		}
		return all
	})
	d.attr("Started", Bool, "Whether clients can connect.", func(a Acceptor) any { return a.Started() })
	d.op("start()", Void, Action, "Lets clients connect.", func(a Acceptor, _ *Call) (any, error) { return nil, a.Start() })
	d.op("stop()", Void, Action, "Closes the acceptor.", func(a Acceptor, _ *Call) (any, error) { return nil, a.Stop() })
	d.op("reload()", Void, Action, "Reads keys and certificates again.", func(a Acceptor, _ *Call) (any, error) { return nil, a.Reload() })
})

// masked hides the value of a parameter that is a secret.
func masked(name string, v any) any {
	switch name {
	case "keyStorePassword", "trustStorePassword", "keyPassword", "password":
		return "****"
	}
	return v
}

func maskedAll(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = masked(k, v)
	}
	return out
}

// transportRow is an acceptor or connector as a row.
func transportRow(name, factory string, params map[string]any) []any {
	return []any{name, factory, maskedAll(params)}
}

func transportObject(name, factory string, params, extra map[string]any) Object {
	return Object{{"name", name}, {"factoryClassName", factory}, {"params", maskedAll(params)}, {"extraProps", maskedAll(extra)}}
}
