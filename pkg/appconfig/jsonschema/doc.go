// Package jsonschema generates JSON Schemas of the app config format, one per kind of file, for
// editors. It derives them from package format and adds no rules. Package appconfig checks what a
// schema cannot express (whether a component exists, whether a template renders), and also rejects
// every file that a schema rejects.
//
// The schemas use draft 7 without references, because TOML language servers can complete from
// those: Taplo reads properties, items, anyOf and oneOf, but not if and then.
//
// `nuon schema` calls it.
package jsonschema
