package management

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
)

// Tags of Java's object serialization stream protocol, version 5.
const (
	javaMagic      = 0xACED0005
	javaNull       = 0x70
	javaReference  = 0x71
	javaClassDesc  = 0x72
	javaObject     = 0x73
	javaString     = 0x74
	javaArray      = 0x75
	javaBlockData  = 0x77
	javaEndBlock   = 0x78
	javaLongString = 0x7C

	javaFirstHandle = 0x7E0000
)

// Flags of a class: how its objects' data is written.
const (
	javaPlain  = 2 // the fields
	javaCustom = 3 // the fields and what the class's own method writes after them
)

// A javaClass is what a stream says of a class. Primitive fields come first, each part in the order of names.
type javaClass struct {
	name   string
	uid    uint64
	flags  byte
	fields []javaField
	super  *javaClass
}

// A javaField has the type code of a primitive type, or L or [ and the type's signature.
type javaField struct {
	code byte
	name string
	sig  string
}

// A javaStream is what java.io.ObjectOutputStream writes, for the few classes that results of operations consist of. Equal
// strings and equal boxed values are written once.
type javaStream struct {
	out     []byte
	handles map[any]uint32
	next    uint32
}

func newJavaStream() *javaStream {
	return &javaStream{out: binary.BigEndian.AppendUint32(nil, javaMagic), handles: map[any]uint32{}, next: javaFirstHandle}
}

func (s *javaStream) u8(b byte)    { s.out = append(s.out, b) }
func (s *javaStream) u16(n uint16) { s.out = binary.BigEndian.AppendUint16(s.out, n) }
func (s *javaStream) u32(n uint32) { s.out = binary.BigEndian.AppendUint32(s.out, n) }
func (s *javaStream) u64(n uint64) { s.out = binary.BigEndian.AppendUint64(s.out, n) }
func (s *javaStream) null()        { s.u8(javaNull) }

func (s *javaStream) flag(b bool) {
	if b {
		s.u8(1)
	} else {
		s.u8(0)
	}
}

// block writes data of a class's own method that is no object.
func (s *javaStream) block(numbers ...uint32) {
	s.u8(javaBlockData)
	s.u8(byte(4 * len(numbers)))
	for _, n := range numbers {
		s.u32(n)
	}
}

// again writes a reference when what key stands for was written before.
func (s *javaStream) again(key any) bool {
	h, ok := s.handles[key]
	if ok {
		s.u8(javaReference)
		s.u32(h)
	}
	return ok
}

// assign takes the next handle. Key nil is for what is not referred to.
func (s *javaStream) assign(key any) {
	if key != nil {
		s.handles[key] = s.next
	}
	s.next++
}

// modified is s in Java's modified UTF-8: surrogates are characters of their own, and zero has two bytes.
func modified(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, u := range utf16.Encode([]rune(s)) {
		switch {
		case u != 0 && u < 0x80:
			out = append(out, byte(u))
		case u < 0x800:
			out = append(out, 0xC0|byte(u>>6), 0x80|byte(u)&0x3F)
		default:
			out = append(out, 0xE0|byte(u>>12), 0x80|byte(u>>6)&0x3F, 0x80|byte(u)&0x3F)
		}
	}
	return out
}

// text writes a string with its length in two bytes.
func (s *javaStream) text(text string) {
	b := modified(text)
	s.u16(uint16(len(b)))
	s.out = append(s.out, b...)
}

// string writes a string object.
func (s *javaStream) string(text string) {
	if !s.again(text) {
		s.distinct(text)
	}
}

// distinct writes a string object whatever was written before: what Java makes twice.
func (s *javaStream) distinct(text string) {
	s.assign(text)
	b := modified(text)
	if len(b) <= math.MaxUint16 {
		s.u8(javaString)
		s.u16(uint16(len(b)))
	} else {
		s.u8(javaLongString)
		s.u64(uint64(len(b)))
	}
	s.out = append(s.out, b...)
}

// class writes the description of a class and those above it.
func (s *javaStream) class(c *javaClass) {
	if c == nil {
		s.null()
		return
	}
	if s.again(c) {
		return
	}
	s.u8(javaClassDesc)
	s.text(c.name)
	s.u64(c.uid)
	s.assign(c)
	s.u8(c.flags)
	s.u16(uint16(len(c.fields)))
	for _, f := range c.fields {
		s.u8(f.code)
		s.text(f.name)
		if f.sig != "" {
			s.string(f.sig)
		}
	}
	s.u8(javaEndBlock)
	s.class(c.super)
}

// object writes an object whose data, from the topmost class down, data writes. Key is what the object is known by, nil when
// it is not referred to.
func (s *javaStream) object(key any, c *javaClass, data func()) {
	if key != nil && s.again(key) {
		return
	}
	s.u8(javaObject)
	s.class(c)
	s.assign(key)
	data()
}

// array writes the head of an array.
func (s *javaStream) array(c *javaClass, length int) {
	s.u8(javaArray)
	s.class(c)
	s.assign(nil)
	s.u32(uint32(length))
}

// treeMap writes a java.util.TreeMap without comparator of n entries.
func (s *javaStream) treeMap(n int, entries func()) {
	s.object(nil, treeMapClass, func() {
		s.null()
		s.block(uint32(n))
		entries()
		s.u8(javaEndBlock)
	})
}

// linkedHashMap writes a java.util.LinkedHashMap of n entries, as large as it has grown by adding them one by one.
func (s *javaStream) linkedHashMap(n int, entries func()) {
	buckets := uint32(16)
	for uint32(n) > buckets/4*3 {
		buckets *= 2
	}
	s.object(nil, linkedHashMapClass, func() {
		s.u32(math.Float32bits(0.75))
		s.u32(buckets / 4 * 3)
		s.block(buckets, uint32(n))
		entries()
		s.u8(javaEndBlock)
		s.flag(false)
	})
}

// value writes a string, byte array or boxed value.
func (s *javaStream) value(v any) {
	switch v := v.(type) {
	case nil:
		s.null()
	case string:
		s.string(v)
	case []byte:
		s.array(byteArrayClass, len(v))
		s.out = append(s.out, v...)
	case bool:
		s.object(v, booleanClass, func() { s.flag(v) })
	case int8:
		s.object(v, byteClass, func() { s.u8(byte(v)) })
	case int16:
		s.object(v, shortClass, func() { s.u16(uint16(v)) })
	case int32:
		s.object(v, integerClass, func() { s.u32(uint32(v)) })
	case int64:
		s.object(v, longClass, func() { s.u64(uint64(v)) })
	case float32:
		s.object(v, floatClass, func() { s.u32(math.Float32bits(v)) })
	case float64:
		s.object(v, doubleClass, func() { s.u64(math.Float64bits(v)) })
	}
}

// Classes of java.lang and java.util. The numbers are their serialVersionUID.
var (
	numberClass  = &javaClass{name: "java.lang.Number", uid: 0x86AC951D0B94E08B, flags: javaPlain}
	booleanClass = boxClass("java.lang.Boolean", 0xCD207280D59CFAEE, 'Z', nil)
	byteClass    = boxClass("java.lang.Byte", 0x9C4E6084EE50F51C, 'B', numberClass)
	shortClass   = boxClass("java.lang.Short", 0x684D37133460DA52, 'S', numberClass)
	integerClass = boxClass("java.lang.Integer", 0x12E2A0A4F7818738, 'I', numberClass)
	longClass    = boxClass("java.lang.Long", 0x3B8BE490CC8F23DF, 'J', numberClass)
	floatClass   = boxClass("java.lang.Float", 0xDAEDC9A2DB3CF0EC, 'F', numberClass)
	doubleClass  = boxClass("java.lang.Double", 0x80B3C24A296BFB04, 'D', numberClass)

	byteArrayClass   = &javaClass{name: "[B", uid: 0xACF317F8060854E0, flags: javaPlain}
	objectArrayClass = &javaClass{name: "[Ljava.lang.Object;", uid: 0x90CE589F1073296C, flags: javaPlain}

	treeMapClass = &javaClass{name: "java.util.TreeMap", uid: 0x0CC1F63E2D256AE6, flags: javaCustom,
		fields: []javaField{{'L', "comparator", "Ljava/util/Comparator;"}}}
	hashMapClass = &javaClass{name: "java.util.HashMap", uid: 0x0507DAC1C31660D1, flags: javaCustom,
		fields: []javaField{{'F', "loadFactor", ""}, {'I', "threshold", ""}}}
	linkedHashMapClass = &javaClass{name: "java.util.LinkedHashMap", uid: 0x34C04E5C106CC0FB, flags: javaPlain,
		fields: []javaField{{'Z', "accessOrder", ""}}, super: hashMapClass}
	arrayListClass = &javaClass{name: "java.util.ArrayList", uid: 0x7881D21D99C7619D, flags: javaCustom,
		fields: []javaField{{'I', "size", ""}}}
	arraysListClass = &javaClass{name: "java.util.Arrays$ArrayList", uid: 0xD9A43CBECD8806D2, flags: javaPlain,
		fields: []javaField{{'[', "a", "[Ljava/lang/Object;"}}}
	unmodifiableCollectionClass = &javaClass{name: "java.util.Collections$UnmodifiableCollection", uid: 0x19420080CB5EF71E, flags: javaPlain,
		fields: []javaField{{'L', "c", "Ljava/util/Collection;"}}}
	unmodifiableListClass = &javaClass{name: "java.util.Collections$UnmodifiableList", uid: 0xFC0F2531B5EC8E10, flags: javaPlain,
		fields: []javaField{{'L', "list", "Ljava/util/List;"}}, super: unmodifiableCollectionClass}
)

func boxClass(name string, uid uint64, code byte, super *javaClass) *javaClass {
	return &javaClass{name: name, uid: uid, flags: javaPlain, fields: []javaField{{code, "value", ""}}, super: super}
}
