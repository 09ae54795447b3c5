package filter

import "math"

// message is a Source over a map. goldenMessage has the properties of the message that testdata was captured with.
type message map[string]Value

func (m message) Property(name string) Value { return m[name] }

func goldenMessage() message {
	return message{
		"i": Int(5), "l": Long(5), "d": Double(5.5), "f": Float(1.5), "sh": Short(7), "by": Byte(2),
		"s": String("red"), "sn": String("5"), "e": String(""), "q": String("it's"), "b": Bool(true), "neg": Int(-3),
		"hy-ph": String("v"), "ff": Bool(false),
		"nan": Double(math.NaN()), "nz": Double(math.Copysign(0, -1)), "z": Double(0),
		"by5": Byte(5), "sh5": Short(5), "f5": Float(5), "d5": Double(5),
		"big": Long(9007199254740993), "fbig": Float(16777217), "ib": Int(16777217),
		"min": Long(math.MinInt64), "imax": Int(math.MaxInt32),
		"bytes": Bytes([]byte{1}), "c": Char('x'), "c5": Char('5'),
		"st": String("true"), "sf": String("5.5"), "uni": String("a\U0001F600b"), "pct": String(`50%_off\`),
		"nl": String("a\nb"), "hi": String("\uFF5E"), "sup": StringBytes([]byte("\U0001F600")),
		Priority: Int(7), Durable: String("DURABLE"), Size: Int(200), Address: String("fi"), "_AMQ_ROUTING_TYPE": Byte(1),
	}
}
