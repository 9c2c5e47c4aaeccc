// Package kyverno owns what a Kyverno policy must look like, and says which parts of it are decided here and which only by the Kyverno
// in an install's cluster. It reads texts and gives the policies as Go values; it evaluates nothing and talks to no cluster.
//
// There are three things that can be said of a part. It is known, and a preview here can decide it: then nothing is said. It is valid,
// but nothing here decides it: then that is a warning, as the preview must not pass for an answer. Or it certainly makes the policy
// invalid: an error. A field that the policy's schema does not have is a warning, as people have such policies in use; the preview of
// such a policy decides nothing.
package kyverno
