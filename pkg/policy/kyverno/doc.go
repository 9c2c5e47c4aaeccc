// Package kyverno checks Kyverno policies, and determines which of their parts are evaluated by the
// previews of this product and which only by Kyverno in an install's cluster. It parses texts and
// returns the policies as Go values; it evaluates nothing and never accesses a cluster.
//
// A part of a policy is in one of three classes. A known part that a preview evaluates gets no
// diagnostic. A valid part that nothing here evaluates gets a warning, because a preview must not
// be mistaken for the decision of the cluster. A part that certainly makes the policy invalid gets
// an error. A field that the schema does not have gets a warning, because policies with unknown
// fields are in use; a preview of a policy with unknown fields decides nothing.
package kyverno
