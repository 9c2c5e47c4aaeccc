// Package rego checks policies in OPA's language: it checks the text before it is stored or sent
// anywhere, and determines what the policy declares and reads. It parses and compiles but never
// evaluates: `nuon` and the reconciler link this package, and policies run only in a runner.
//
// A policy is one module, `package nuon`. Its results are the rules deny (blocks what is planned),
// warn (is shown) and pass (reports what was found to be fine). Each is true, a set of strings, or
// a set of objects with a string under msg. Other rules are helpers.
//
// The text is hostile. Parsing is linear but compiling is not: each nested comprehension doubles
// the time, badly ordered conditions cube it, and types may grow as 2ⁿ. Therefore the cost of a
// text is estimated before it is compiled (limit.go).
package rego
