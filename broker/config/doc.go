// Package config reads everything under an instance's etc folder that a broker
// needs to start, and holds it as one typed, validated tree.
//
// # Files
//
//	bootstrap.xml               which broker.xml, which security realm      Bootstrap
//	broker.xml                  the broker itself                           Config
//	broker.properties, …        changes on top of broker.xml                PropertiesStatus
//	login.config                realms, login modules and their options     LoginConfig
//	management.xml              who may call which management operation     ManagementAccess
//	artemis.profile             JAVA_ARGS: heap size and -D properties      Profile
//
// Load reads them all in the order Artemis does. Users, roles and key stores
// are read by the packages that use them; ParseProperties reads the format.
//
// # broker.xml
//
// The text is substituted first: ${name} and ${name:default} are replaced
// wherever they stand, by the system property, else the environment variable,
// else the default, else nothing; replacing is repeated until nothing is left
// to replace. Then it is parsed as XML with XInclude, substituted again in the
// included text, and decoded into Config. Each field of the tree names its
// element in a struct tag:
//
//	cfg:"name"              child element, text content
//	cfg:"a/b"               element b inside the container a
//	cfg:"@match"            attribute
//	cfg:"."                 the element's own text
//	cfg:"a|b"               older name b of the same thing; b gives a warning
//	check:">0"              allowed values, see checks in value.go
//	unit:"ms"               unit of the plain integer a time.Duration is read from
//	bean:"name"             name in broker properties, where it isn't the
//	                        element's name in camel case
//
// Times are time.Duration; a negative one means off, unlimited or for ever as
// its field says, and is kept as -1 of the element's unit. Sizes are Bytes:
// digits and an optional k, m or g (ki, mi, gi, with or without a final b),
// always powers of 1024.
//
// What an element does in this broker is said by the table in elements.go: it
// is effective, without effect (a Warning), or refused (an Error that stops the
// start). docs/COMPAT.md prints that table.
//
// # Errors
//
// Nothing is half-loaded: all faults of the files are collected (at most
// maxErrors) and returned together as Errors, each with file, line, element,
// what is wrong and what to do. Where Artemis only warns, a Warning is returned.
//
// Values are plain data without locks: a Config is built once and then only read.
package config
