// Package style formats the TOML files of an app: one layout for every file, without options.
//
// It changes whitespace, line ends, commas and the space in comments. It never changes the text
// of a value, the spelling of a key, any order or the meaning of the file, and it preserves all
// comments. It does not depend on the app config format, and reads and writes no files. `nuon
// fmt` calls it, and `nuon init` for the files that it writes.
//
// # The layout
//
//   - Lines end with LF, including the last one, and have no trailing whitespace. There is no byte order
//     mark. The inside of a multi-line string is preserved byte for byte.
//   - Only the elements of an array or inline table over several lines are indented: two spaces per
//     level.
//   - A table header has a blank line before it, or before the comments directly above it, and none
//     after it. Elsewhere, one or more blank lines become one.
//   - `key = value`, with the = of adjacent lines aligned. A blank line, a header and a value over
//     several lines end such a block; a comment line does not. A key that is much longer than the
//     others is not aligned. Comments after the values of adjacent lines are aligned as well.
//   - An array is on one line if that line has at most 100 columns and the array contains no comment,
//     else one element per line, each with a comma. An inline table remains on its line, because TOML
//     1.0 requires that, as { a = 1, b = 2 }; one over several lines is treated like an array.
//   - Comments are `# text`. Rulers, #! and #: directives (such as #:schema) are preserved.
//   - Strings preserve their quotes, and numbers and dates their spelling.
//
// Formatting is idempotent.
package style
