package management

// Parameters is for the fuzz target.
var Parameters = parameters
