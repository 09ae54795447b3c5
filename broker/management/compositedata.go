package management

import (
	"encoding/base64"
	"sort"
)

// A compositeData is a message as browse shows it, by item. Among its items are text or BodyPreview.
type compositeData map[string]any

// compositesJSON is what a management message has for an array of CompositeData: each as a serialized Java object, in base64.
func compositesJSON(page []compositeData) Object {
	texts := make([]string, len(page))
	for i, c := range page {
		texts[i] = base64.StdEncoding.EncodeToString(c.serialize())
	}
	return Object{{"javax.management.openmbean.CompositeData", texts}}
}

// serialize writes the items as a javax.management.openmbean.CompositeDataSupport, of the composite type that Artemis has for
// messages of this kind.
func (c compositeData) serialize() []byte {
	t := bytesMessageType
	if _, ok := c["text"]; ok {
		t = textMessageType
	}
	s := newJavaStream()
	t.data(s, func(i item) { i.kind.value(s, c[i.name]) })
	return s.out
}

// An openType is a javax.management.openmbean.OpenType.
type openType interface {
	write(*javaStream)
	// value writes a value of the type: null for one that is none.
	value(*javaStream, any)
}

// An item is a member of a composite type.
type item struct {
	name, desc string
	kind       openType
}

// A compositeType is a named list of items in the order of their names.
type compositeType struct {
	name  string
	items []item
}

func (t *compositeType) write(s *javaStream) {
	s.object(t, compositeTypeClass, func() {
		openTypeNames(s, "javax.management.openmbean.CompositeData", t.name)
		s.treeMap(len(t.items), func() {
			for _, i := range t.items {
				s.string(i.name)
				s.string(i.desc)
			}
		})
		s.treeMap(len(t.items), func() {
			for _, i := range t.items {
				s.string(i.name)
				i.kind.write(s)
			}
		})
	})
}

// data writes a CompositeDataSupport of the type.
func (t *compositeType) data(s *javaStream, value func(item)) {
	s.object(nil, compositeDataClass, func() {
		t.write(s)
		s.treeMap(len(t.items), func() {
			for _, i := range t.items {
				s.string(i.name)
				value(i)
			}
		})
	})
}

// openTypeNames writes the fields of the class OpenType, for types that are described by their names.
func openTypeNames(s *javaStream, class, name string) {
	s.string(class)
	s.string(name)
	s.string(name)
}

// A simpleType is the type of strings or of a kind of boxed values.
type simpleType struct {
	name  string
	boxed func(any) any
}

func (t *simpleType) write(s *javaStream) {
	s.object(t, simpleTypeClass, func() { openTypeNames(s, t.name, t.name) })
}

func (t *simpleType) value(s *javaStream, v any) { s.value(t.boxed(v)) }

// A byteArrayType is the type of byte arrays. In a stream it appears as that of arrays of boxed bytes.
type byteArrayType struct{}

func (t byteArrayType) write(s *javaStream) {
	s.object(t, arrayTypeClass, func() {
		s.string("[Ljava.lang.Byte;")
		s.string("1-dimension array of java.lang.Byte")
		s.distinct("[Ljava.lang.Byte;")
		s.u32(1)
		s.flag(true)
		byteType.write(s)
	})
}

func (byteArrayType) value(s *javaStream, v any) {
	signed, ok := v.([]int)
	if !ok {
		s.null()
		return
	}
	b := make([]byte, len(signed))
	for i, n := range signed {
		b[i] = byte(n)
	}
	s.value(b)
}

// A tableType is the type of the properties of one type: a table of rows key and value, indexed by the key.
type tableType struct{ row *compositeType }

func tableOf(t *simpleType) *tableType {
	return &tableType{&compositeType{"java.util.Map<java.lang.String, " + t.name + ">", []item{{"key", "key", stringType}, {"value", "value", t}}}}
}

func (t *tableType) write(s *javaStream) {
	s.object(t, tabularTypeClass, func() {
		openTypeNames(s, "javax.management.openmbean.TabularData", t.row.name)
		s.object(nil, unmodifiableListClass, func() {
			list := new(byte) // what the list is known by: two fields hold it
			for range 2 {
				s.object(list, arrayListClass, func() {
					s.u32(1)
					s.block(1)
					s.string("key")
					s.u8(javaEndBlock)
				})
			}
		})
		t.row.write(s)
	})
}

func (t *tableType) value(s *javaStream, v any) {
	properties, ok := v.(map[string]any)
	if !ok {
		s.null()
		return
	}
	keys := make([]string, 0, len(properties))
	for k := range properties {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	s.object(nil, tabularDataClass, func() {
		s.linkedHashMap(len(keys), func() {
			for _, k := range keys {
				t.index(s, k)
				t.row.data(s, func(i item) {
					if i.name == "key" {
						s.string(k)
					} else {
						i.kind.value(s, properties[k])
					}
				})
			}
		})
		t.write(s)
	})
}

// index writes the index of a row: the unmodifiable list of its key.
func (t *tableType) index(s *javaStream, key string) {
	s.object(nil, unmodifiableListClass, func() {
		list := new(byte)
		for range 2 {
			s.object(list, arraysListClass, func() {
				s.array(objectArrayClass, 1)
				s.string(key)
			})
		}
	})
}

// Simple types, and how what JSON shows of a value becomes one of them.
var (
	stringType = &simpleType{"java.lang.String", func(v any) any {
		if s, ok := v.(string); ok {
			return s
		}
		return nil
	}}
	boolType = &simpleType{"java.lang.Boolean", func(v any) any {
		if b, ok := v.(bool); ok {
			return b
		}
		return nil
	}}
	byteType   = integerType("java.lang.Byte", func(n int64) any { return int8(n) })
	shortType  = integerType("java.lang.Short", func(n int64) any { return int16(n) })
	intType    = integerType("java.lang.Integer", func(n int64) any { return int32(n) })
	longType   = integerType("java.lang.Long", func(n int64) any { return n })
	floatType  = decimalType("java.lang.Float", func(f float64) any { return float32(f) })
	doubleType = decimalType("java.lang.Double", func(f float64) any { return f })
)

func integerType(name string, of func(int64) any) *simpleType {
	return &simpleType{name, func(v any) any {
		if n, ok := integer(v, 64); ok {
			return of(n)
		}
		return nil
	}}
}

func decimalType(name string, of func(float64) any) *simpleType {
	return &simpleType{name, func(v any) any {
		switch f := v.(type) {
		case float32:
			return of(float64(f))
		case float64:
			return of(f)
		case notFinite:
			return of(float64(f))
		}
		return nil
	}}
}

// Composite types of messages, with the names and descriptions that clients of Artemis know.
var (
	textMessageType  = messageType(item{"text", "text", stringType})
	bytesMessageType = messageType(item{"BodyPreview", "The message body", byteArrayType{}})
)

func messageType(body item) *compositeType {
	items := []item{
		body,
		{"type", "The message type", byteType},
		{"address", "The Address", stringType},
		{"messageID", "The message ID", stringType},
		{"protocol", "The message protocol", stringType},
		{"userID", "The user ID", stringType},
		{"durable", "Is the message durable", boolType},
		{"expiration", "The message expiration", longType},
		{"priority", "The message priority", byteType},
		{"redelivered", "Has the message been redelivered", boolType},
		{"timestamp", "The message timestamp", longType},
		{"largeMessage", "Is the message treated as a large message", boolType},
		{"persistentSize", "The message size when persisted on disk", longType},
		{"PropertiesText", "The properties text", stringType},
		{"StringProperties", "User String Properties", tableOf(stringType)},
		{"BooleanProperties", "User Boolean Properties", tableOf(boolType)},
		{"ByteProperties", "User Byte Properties", tableOf(byteType)},
		{"ShortProperties", "User Short Properties", tableOf(shortType)},
		{"IntProperties", "User Int Properties", tableOf(intType)},
		{"LongProperties", "User Long Properties", tableOf(longType)},
		{"FloatProperties", "User Float Properties", tableOf(floatType)},
		{"DoubleProperties", "User Double Properties", tableOf(doubleType)},
	}
	sort.Slice(items, func(i, j int) bool { return items[i].name < items[j].name })
	return &compositeType{"org.apache.activemq.artemis.api.core.Message", items}
}

// Classes of javax.management.openmbean. The numbers are their serialVersionUID.
var (
	openTypeClass = &javaClass{name: "javax.management.openmbean.OpenType", uid: 0x80641A91E9EADE3C, flags: javaPlain, fields: []javaField{
		{'L', "className", "Ljava/lang/String;"}, {'L', "description", "Ljava/lang/String;"}, {'L', "typeName", "Ljava/lang/String;"}}}
	simpleTypeClass = &javaClass{name: "javax.management.openmbean.SimpleType", uid: 0x1EBF4FF8DC657827, flags: javaPlain, super: openTypeClass}
	arrayTypeClass  = &javaClass{name: "javax.management.openmbean.ArrayType", uid: 0x09FFBEF62721878A, flags: javaPlain, super: openTypeClass, fields: []javaField{
		{'I', "dimension", ""}, {'Z', "primitiveArray", ""}, {'L', "elementType", "Ljavax/management/openmbean/OpenType;"}}}
	compositeTypeClass = &javaClass{name: "javax.management.openmbean.CompositeType", uid: 0xB58746EB5A079F42, flags: javaPlain, super: openTypeClass, fields: []javaField{
		{'L', "nameToDescription", "Ljava/util/TreeMap;"}, {'L', "nameToType", "Ljava/util/TreeMap;"}}}
	compositeDataClass = &javaClass{name: "javax.management.openmbean.CompositeDataSupport", uid: 0x6F12361AD2285A64, flags: javaPlain, fields: []javaField{
		{'L', "compositeType", "Ljavax/management/openmbean/CompositeType;"}, {'L', "contents", "Ljava/util/SortedMap;"}}}
	tabularTypeClass = &javaClass{name: "javax.management.openmbean.TabularType", uid: 0x5AF4BDA1C4D6063D, flags: javaPlain, super: openTypeClass, fields: []javaField{
		{'L', "indexNames", "Ljava/util/List;"}, {'L', "rowType", "Ljavax/management/openmbean/CompositeType;"}}}
	tabularDataClass = &javaClass{name: "javax.management.openmbean.TabularDataSupport", uid: 0x4F620EA86B971743, flags: javaPlain, fields: []javaField{
		{'L', "dataMap", "Ljava/util/Map;"}, {'L', "tabularType", "Ljavax/management/openmbean/TabularType;"}}}
)
