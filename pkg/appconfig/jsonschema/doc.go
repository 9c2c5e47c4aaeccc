// Package jsonschema makes JSON Schemas of the app config format, one for each kind of file, for editors. It reads package format and adds
// nothing to it: what a schema cannot say (whether a component exists, whether a template can be rendered) is package appconfig's
// business, and a file that a schema refuses is refused there too.
//
// The schemas are of draft 7 and use no references, because that is what TOML language servers know how to complete from: Taplo looks
// into properties, items, anyOf and oneOf, and not into if and then.
//
// `nuon schema` calls it.
package jsonschema
