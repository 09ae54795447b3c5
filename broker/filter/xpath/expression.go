package xpath

// An expression is a part of a compiled one.
type expression interface {
	eval(e *evaluation, c context) value
}

// context is where an expression is evaluated.
type context struct {
	node           int32
	position, size int
}

type (
	number   float64
	literal  string
	variable struct{}
	negation struct{ of expression }
	binary   struct {
		operator    string
		left, right expression
	}
	call struct {
		function *function
		args     []expression
	}
	// filtered is a primary expression with predicates.
	filtered struct {
		of         expression
		predicates []expression
	}
	// path are steps from the root, from the context node, or from the nodes of an expression.
	path struct {
		from     expression // nil: the root or the context node
		absolute bool
		steps    []step
	}
	step struct {
		axis       axis
		test       test
		predicates []expression
	}
)

// test is a node test.
type test struct {
	kind  testKind
	space string // prefix, which stands for the namespace of this name
	local string // or target of a processing instruction
	all   bool   // "*" for the local name; any target
}

type testKind uint8

const (
	nameTest testKind = iota
	anyTest
	textTest
	commentTest
	instructionTest
)

type axis uint8

const (
	child axis = iota
	descendant
	parent
	ancestor
	followingSibling
	precedingSibling
	following
	preceding
	attribute
	namespace
	self
	descendantOrSelf
	ancestorOrSelf
)

var axes = map[string]axis{
	"child": child, "descendant": descendant, "parent": parent, "ancestor": ancestor, "following-sibling": followingSibling,
	"preceding-sibling": precedingSibling, "following": following, "preceding": preceding, "attribute": attribute,
	"namespace": namespace, "self": self, "descendant-or-self": descendantOrSelf, "ancestor-or-self": ancestorOrSelf,
}

// reverse tells that an axis counts positions against the order of the document.
func (a axis) reverse() bool {
	return a == ancestor || a == ancestorOrSelf || a == preceding || a == precedingSibling
}
