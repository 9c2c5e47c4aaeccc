// Package app compares two configs of an app and reports what changes and what that will cause:
// what is built and deployed again, which inputs every install must set, whether the customer must
// run the stack again, and what is destroyed.
//
// It owns the names of the parts of a config in a report, the comparison, and the rules about
// consequences (rules.go). The rules are data; docs/diff-rules.md lists them. What a deploy depends
// on is defined in one place, appconfig's ConfigDigest: the control plane decides by it, and
// EffectOf uses it, too.
//
// It never reads a file and never accesses a network: nuon diff app and the preview of the control
// plane pass two configs that they have read. It masks values that are secret by name or format.
package app
