package management

import (
	"encoding/json"
	"fmt"

	"github.com/saranga-mq/saranga/broker"
)

var divertClass = class("DivertControl", "A divert: sends what one address gets to another.", func(d *definition[*broker.Divert]) {
	d.attr("UniqueName", String, "Name of the divert.", func(x *broker.Divert) any { return x.Config().Name })
	d.attr("RoutingName", String, "Name that groups diverts of which only one gets a message.", func(x *broker.Divert) any { return x.Config().RoutingName })
	d.attr("Address", String, "Address whose messages are diverted.", func(x *broker.Divert) any { return x.Config().Address })
	d.attr("ForwardingAddress", String, "Address they go to.", func(x *broker.Divert) any { return x.Config().ForwardAddress })
	d.attr("Exclusive", Bool, "Whether a diverted message goes nowhere else.", func(x *broker.Divert) any { return x.Config().Exclusive })
	d.attr("Filter", String, "Selector of the messages that are diverted.", func(x *broker.Divert) any { return textOrNull(x.Config().Filter) })
	d.attr("RoutingType", String, "What happens to the routing type of a message.", func(x *broker.Divert) any { return divertRouting(x.Config().RoutingType) })
	d.attr("TransformerClassName", String, "Class that changes messages.", func(x *broker.Divert) any { return textOrNull(x.Config().TransformerClass) })
	d.attr("TransformerProperties", Map, "Properties of the transformer.", func(x *broker.Divert) any {
		if p := x.Config().TransformerProps; p != nil {
			return p
		}
		return nil
	})
	d.attr("TransformerPropertiesAsJSON", String, "Properties of the transformer, as JSON.", func(x *broker.Divert) any {
		if p := x.Config().TransformerProps; p != nil {
			return JSON(p)
		}
		return "{}"
	})
	d.attr("RetroactiveResource", Bool, "Whether the divert feeds a retroactive address.", func(x *broker.Divert) any { return x.Retroactive() })
})

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

var divertRoutings = map[broker.DivertRouting]string{broker.DivertAnycast: "ANYCAST", broker.DivertMulticast: "MULTICAST", broker.DivertStrip: "STRIP", broker.DivertPass: "PASS"}

func divertRouting(r broker.DivertRouting) string { return divertRoutings[r] }

func parseDivertRouting(text string) (broker.DivertRouting, error) {
	for r, name := range divertRoutings {
		if name == text {
			return r, nil
		}
	}
	return 0, fmt.Errorf("no enum constant ComponentConfigurationRoutingType.%s", text)
}

// divertJSON is the JSON form of a divert's configuration.
type divertJSON struct {
	Name        *string `json:"name"`
	RoutingName *string `json:"routing-name"`
	Address     *string `json:"address"`
	Forwarding  *string `json:"forwarding-address"`
	Exclusive   *bool   `json:"exclusive"`
	Filter      *string `json:"filter-string"`
	RoutingType *string `json:"routing-type"`
	Transformer *struct {
		ClassName  string            `json:"class-name"`
		Properties map[string]string `json:"properties"`
	} `json:"transformer-configuration"`
}

// apply reads a divert's configuration over what cfg has.
func (j *divertJSON) apply(cfg *broker.DivertConfig) error {
	set(&cfg.Name, j.Name)
	set(&cfg.RoutingName, j.RoutingName)
	set(&cfg.Address, j.Address)
	set(&cfg.ForwardAddress, j.Forwarding)
	set(&cfg.Exclusive, j.Exclusive)
	set(&cfg.Filter, j.Filter)
	if j.Transformer != nil {
		cfg.TransformerClass, cfg.TransformerProps = j.Transformer.ClassName, j.Transformer.Properties
	}
	if j.RoutingType != nil {
		r, err := parseDivertRouting(*j.RoutingType)
		if err != nil {
			return err
		}
		cfg.RoutingType = r
	}
	return nil
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func (g *Registry) createDivertJSON(text string) error {
	cfg := broker.DivertConfig{RoutingType: broker.DivertStrip}
	if err := parseDivert(text, &cfg); err != nil {
		return err
	}
	return g.b.CreateDivert(cfg, true)
}

func parseDivert(text string, cfg *broker.DivertConfig) error {
	var j divertJSON
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return badJSON(text, err)
	}
	return j.apply(cfg)
}

func (g *Registry) updateDivertJSON(text string) error {
	var named divertJSON
	if err := json.Unmarshal([]byte(text), &named); err != nil {
		return badJSON(text, err)
	}
	if named.Name == nil {
		return fmt.Errorf("AMQ229223: Divert %s does not exist", "null")
	}
	return g.updateDivert(*named.Name, named.apply)
}

// updateDivert changes a divert. What only its creation decides stays.
func (g *Registry) updateDivert(name string, change func(*broker.DivertConfig) error) error {
	for _, d := range g.b.Diverts() {
		if d.Name() != name {
			continue
		}
		cfg := d.Config()
		if err := change(&cfg); err != nil {
			return err
		}
		cfg.Name, cfg.Address = name, d.Config().Address
		return g.b.ReplaceDivert(cfg)
	}
	return fmt.Errorf("AMQ229223: Divert %s does not exist", name)
}

// badJSON is the error for text that is not JSON.
func badJSON(text string, err error) error {
	if e, ok := err.(*json.SyntaxError); ok && int(e.Offset) > 0 && int(e.Offset) <= len(text) {
		c := text[e.Offset-1]
		return fmt.Errorf("Unexpected character '%c' (Codepoint: %d) on [lineNumber=1, columnNumber=%d, streamOffset=%d]. Reason is [[Expected structural character or digit or 't' or 'n' or 'f' or '-']]", //lint:ignore ST1005 the text of Artemis
			c, c, e.Offset+1, e.Offset)
	}
	return fmt.Errorf("invalid JSON: %v", err)
}
