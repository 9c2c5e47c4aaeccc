// Package app says what changes between two configs of an app, and what that will cause: what is built and deployed anew, which inputs every
// install is asked for, whether the customer must run the stack again, what is destroyed.
//
// It owns what the parts of a config are called in a report, how they are compared, and the rules for their consequences (rules.go), which
// are data: docs/diff-rules.md lists them. What a deploy depends on is said in one place, appconfig's ConfigDigest, which the control plane
// decides by, too; EffectOf asks it.
//
// It never reads a file and never reaches a network: nuon diff app gives it two configs that were read, and so does the control plane's
// preview. What hides a secret by its name or form is masked.
package app
