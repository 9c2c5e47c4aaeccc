// Package render owns the template language of app configs: which templates are allowed, which
// values they read, and their output for a set of values.
//
// A template is a Go text/template over one root, `.nuon`. The language is small and pure, because
// the same text is checked in the control plane and rendered next to a customer's secrets:
//
//   - Only the functions of an allow-list exist. None of them reads the
//     environment, the clock, the network, files or randomness.
//   - A path without a value is an error, never an empty string.
//   - A text without the substring `.nuon` is not a template. It is returned
//     byte for byte, so the braces of Helm and Kyverno are preserved.
//   - Work is bounded: named templates, ranges over numbers and deep nesting
//     are rejected when the text is parsed; loop iterations, function work and
//     output are counted while the template runs.
//   - Output is text, not HTML: nothing is escaped. A list or an object that is
//     printed as a whole is printed as JSON, null as nothing, and numbers as in
//     JSON.
//
// [Template.Refs] lists what a template can read. [Template.Execute] provides exactly those values
// to the template, so the list cannot be incomplete: other values do not exist for the template.
//
// Values may be secret, so no error of this package contains one. Errors name the template, the
// position and the path.
//
// [Template.Uses] lists where in the text each ref is named, so that a message can point to it.
//
// The package never fetches a value, decides who may see one, or accesses a disk. pkg/appconfig
// calls it to check templates, and the runner calls it to render them. The control plane renders
// with placeholders for values that it must not show or does not have.
package render
