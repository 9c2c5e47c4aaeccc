// Package format is the app config format as Go types: what may stand in each kind of file, and what it means.
//
// Every kind of file is a struct here, every key a field of one, and the comment of the field is the documentation of the key. The
// decoder, the JSON Schemas for editors, `nuon explain config` and the reference page all read these types, so there is no second
// list of keys anywhere. What a config means, with all files together, is package appconfig's business.
//
// # Tags
//
//	toml:"name"           the key
//	config:"..."          what holds for it, comma-separated:
//	  required            it must be there, and not be empty
//	  one=a|b|c           its values
//	  known=a|b|c         its values, of which package appconfig says more than that another one is none
//	  default=x           what holds when it is left out
//	  template            rendered for each install; see package render
//	  file                the text itself, or a reference to the file that holds it (./ ../ http:// https:// git:: file://)
//	  duration            a Go duration such as 90s or 1h30m
//	  cron                a schedule of five fields
//	  regexp              a regular expression of RE2
//	  url                 an http or https address
//	  json                JSON text
//	  set                 the order of the elements means nothing
//	  sorted=key          likewise, of tables, which are told apart by that key
//	  idle                accepted, no effect yet: nothing in nuon acts on it so far
//	  was=a|b             older spellings of the key, which are read with a warning
//	values:"old=new,..."  older spellings of values, which are read with a warning
//	example:"..."         a value as people write it; of a table of strings, one KEY=VALUE of it
//
// A number or a bool may stand where a string is wanted, and the string of one where it is wanted: existing files rely on that.
//
// Keys that people write and that the format does not have are fields of type Stray; keys that it once had are of type Gone. Their
// hint tag says what to write instead.
package format

// Unsupported is a key that is no part of the format and that people write all the same. It is a warning, with the tag hint as what to
// write instead, and has no effect.
type Unsupported struct{}

// Removed is a key that was once part of the format. It is an error, with the tag hint as what to write instead.
type Removed struct{}

// Any is a value of any shape, which is kept and not looked into.
type Any any

// Scalars is a table of scalars that keep their types: each is a string, int64, float64 or bool. A date or a time is its text. They are
// written and read as JSON without loss: a float64 has a point or an exponent, so that 3 and 3.0 are two things.
type Scalars map[string]any

// Values is a table of strings, or an array of such tables, which is read as one table: later ones add to earlier ones.
type Values map[string]string
