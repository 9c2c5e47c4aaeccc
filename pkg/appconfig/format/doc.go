// Package format declares the app config format as Go types: the keys of each kind of file, and
// their meaning.
//
// Every kind of file is a struct and every key a field; the comment of the field is the documentation
// of the key. The decoder, the JSON Schemas for editors, `nuon explain config` and the reference page
// use these types, so there is no second list of keys. Package appconfig checks what a config means
// as a whole.
//
// # Tags
//
//	toml:"name"           the key
//	config:"..."          the properties of the key, comma-separated:
//	  required            it must be set, and not be empty
//	  one=a|b|c           its allowed values
//	  known=a|b|c         its known values; package appconfig reports others
//	  default=x           its default
//	  template            rendered for each install; see package render
//	  file                the text, or a reference to a file with it (./ ../ http:// https:// git:: file://)
//	  duration            a Go duration such as 90s or 1h30m
//	  cron                a schedule of five fields
//	  regexp              a regular expression of RE2
//	  url                 an http or https URL
//	  json                JSON text
//	  set                 the order of the elements is irrelevant
//	  sorted=key          the order of the tables is irrelevant; the key identifies each
//	  idle                accepted, no effect yet: no code uses it so far
//	  was=a|b             older spellings of the key, which are read with a warning
//	values:"old=new,..."  older spellings of values, which are read with a warning
//	example:"..."         an example value; for a table of strings, KEY=VALUE
//
// A number or a bool is accepted where a string is expected, and the string form of a number or a
// bool where one is expected: existing files rely on that.
//
// Keys that are in common use but not in the format are fields of type Unsupported; keys that were
// removed from the format are of type Removed. Their hint tag states what to write instead.
package format

// Unsupported is a key that is in common use but not in the format. It has no effect, and Decode
// warns about it with the hint of its tag.
type Unsupported struct{}

// Removed is a key that was removed from the format. Decode reports an error with the hint of its tag.
type Removed struct{}

// Any is a value of any shape, which is stored but not checked.
type Any any

// Scalars is a table of scalars that keep their types: each is a string, int64, float64 or bool. A
// date or a time becomes a string. JSON encodes them without loss: a float64 has a point or an
// exponent, so that 3 and 3.0 differ.
type Scalars map[string]any

// Values is a table of strings, or an array of such tables, which are merged: later tables override
// earlier ones.
type Values map[string]string
