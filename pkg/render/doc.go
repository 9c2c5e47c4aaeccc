// Package render owns the template language of app configs: which templates are allowed, what they read, and what they give for a
// set of values.
//
// A template is Go's text/template over one root, `.nuon`. It is a small and pure language on purpose, because the same text is
// checked in the control plane and rendered next to a customer's secrets:
//
//   - Only the functions of an allow-list exist. None of them reads the
//     environment, the clock, the network, files or randomness.
//   - A path that has no value is an error, never an empty string.
//   - A text without the substring `.nuon` is not a template. It comes back
//     byte for byte, so Helm's and Kyverno's own braces survive.
//   - Work is bounded: named templates, ranges over numbers and deep nesting
//     are refused when the text is parsed; loop rounds, function work and output
//     are counted while it runs.
//   - Output is text, not HTML: nothing is escaped. A list or an object that is
//     printed whole is printed as JSON, null as nothing, numbers as JSON writes
//     them.
//
// [Template.Refs] lists what a template can read. [Template.Execute] gives the
// template those values and no others, so the list cannot be incomplete: what is not in it does not exist for the template.
//
// Values may be secret, so no error of this package contains one. Errors name the template, the position and the path.
//
// [Template.Uses] says where in the text each of them is named, so that a complaint can point at it.
//
// The package never fetches a value, decides who may see one, or touches a disk. pkg/appconfig calls it to check templates; the
// runner calls it to render them; the control plane renders with placeholders for what it must not show or does not know.
package render
