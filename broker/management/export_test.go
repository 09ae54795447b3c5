package management

// Parameters is for the fuzz target.
var Parameters = parameters

// Serialize writes the items of a message that is browsed as a Java object.
func Serialize(items map[string]any) []byte { return compositeData(items).serialize() }
