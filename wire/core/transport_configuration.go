package core

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/wire/buf"
)

// NettyConnectorFactory is the factory class of a TCP connector.
const NettyConnectorFactory = "org.apache.activemq.artemis.core.remoting.impl.netty.NettyConnectorFactory"

// maxTransportParams bounds the parameters of a TransportConfiguration that is read.
const maxTransportParams = 256

// extraPrefix marks the extra properties among the parameters on the wire.
const extraPrefix = "$.EP."

// TransportConfiguration tells how to reach a node: STR name, STR factory
// class, i32 n, n times STR key, i8 type, value, with type 0 bool, 1 i32, 2 i64, 3 STR.
type TransportConfiguration struct {
	Name    string
	Factory string
	Params  []Param // in the order of the wire
}

// Param is a parameter of a TransportConfiguration.
type Param struct {
	Key   string
	Value any  // bool, int32, int64 or string
	Extra bool // an extra property; its prefix is not in Key
}

// Text returns the parameter key as text whatever its type; parsed URLs carry
// all values as strings, ports too.
func (t *TransportConfiguration) Text(key string) (string, bool) {
	for _, p := range t.Params {
		if p.Key == key && !p.Extra {
			return fmt.Sprint(p.Value), true
		}
	}
	return "", false
}

// Int returns the parameter key as a number if it is one or spells one.
func (t *TransportConfiguration) Int(key string) (int64, bool) {
	s, ok := t.Text(key)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// ReadTransportConfiguration reads one. What is wrong with it is r's error.
func ReadTransportConfiguration(r *buf.Reader) *TransportConfiguration {
	t := &TransportConfiguration{Name: r.STR(), Factory: r.STR()}
	n := r.Count(6) // an empty key, its type and a bool at least
	if n > maxTransportParams {
		r.Fail(fmt.Sprintf("%d transport parameters, at most %d", n, maxTransportParams))
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		var p Param
		p.Key, p.Extra = strings.CutPrefix(r.STR(), extraPrefix)
		switch kind := r.Int8(); kind {
		case 0:
			p.Value = r.Bool()
		case 1:
			p.Value = r.Int32()
		case 2:
			p.Value = r.Int64()
		case 3:
			p.Value = r.STR()
		default:
			r.Fail(fmt.Sprintf("transport parameter type %d", kind))
		}
		t.Params = append(t.Params, p)
	}
	return t
}

// Append appends the configuration.
func (t *TransportConfiguration) Append(dst []byte) []byte {
	dst = buf.AppendSTR(dst, t.Name)
	dst = buf.AppendSTR(dst, t.Factory)
	dst = buf.AppendInt32(dst, int32(len(t.Params)))
	for _, p := range t.Params {
		key := p.Key
		if p.Extra {
			key = extraPrefix + key
		}
		dst = buf.AppendSTR(dst, key)
		switch v := p.Value.(type) {
		case bool:
			dst = buf.AppendBool(append(dst, 0), v)
		case int32:
			dst = buf.AppendInt32(append(dst, 1), v)
		case int64:
			dst = buf.AppendInt64(append(dst, 2), v)
		default:
			dst = buf.AppendSTR(append(dst, 3), fmt.Sprint(v))
		}
	}
	return dst
}

// readOptTransport reads bool has, then a TransportConfiguration if it is true.
func readOptTransport(r *buf.Reader) *TransportConfiguration {
	if !r.Bool() {
		return nil
	}
	return ReadTransportConfiguration(r)
}

func appendOptTransport(dst []byte, t *TransportConfiguration) []byte {
	if t == nil {
		return buf.AppendBool(dst, false)
	}
	return t.Append(buf.AppendBool(dst, true))
}
