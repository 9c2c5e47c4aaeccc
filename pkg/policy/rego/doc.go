// Package rego owns what a policy in OPA's language must look like: what is checked of its text before it goes anywhere, what it
// declares and what it reads. It parses and compiles, and never evaluates: `nuon` and the reconciler link it, and a policy is only
// ever run in a runner.
//
// A policy is one module, `package nuon`. Its results are the rules deny (stops what is planned), warn (is shown) and pass (says what
// was found to be fine); each is true, or gives texts, or objects with a text under msg. Other rules are its own helpers.
//
// The text is hostile. Parsing is linear, but a compile is not: nested comprehensions double it, badly ordered conditions cube it, and
// types may grow as 2ⁿ. What such a text costs is therefore estimated before (limit.go).
package rego
