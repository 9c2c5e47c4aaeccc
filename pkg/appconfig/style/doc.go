// Package style owns how a TOML file of an app is laid out: one layout for every text, without options.
//
// It changes blanks, line ends, commas and the space in comments; it never changes a value's text, a key's spelling, the order of
// anything, or what the file means, and it loses no comment. It knows TOML and not the app config format, reads no file and writes
// none. `nuon fmt` calls it, and `nuon init` for what it writes.
//
// # The layout
//
//   - Lines end with LF, no byte order mark, no blanks at line ends, and the last line is ended, too. What is inside a multi-line
//     string stays byte for byte.
//   - Nothing is indented but what an array or inline table holds over several lines: two spaces a level.
//   - A table header has a blank line before it, or before the comments that stand directly above it, and none after it. Elsewhere
//     one blank line stays where there was one or more.
//   - `key = value`, with the = of adjacent lines in one column. A blank line, a header and a value of several lines end such a
//     block; a comment line does not. A key that is much longer than the others is left out of it. Comments behind the values
//     of adjacent lines are put in one column as well.
//   - An array is written on one line if that has at most 100 columns and there is no comment in it, else one element a line, each
//     with a comma. An inline table stays on the line that it was written on, since TOML 1.0 wants it so, as { a = 1, b = 2 };
//     one that was written over several lines is treated as an array is.
//   - Comments are `# text`. Rulers, #! and #: directives (such as #:schema) stay as they are.
//   - Strings keep their quotes, and numbers and dates their spelling.
//
// To format what is formatted changes nothing.
package style
