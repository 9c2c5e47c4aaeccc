// Package ignore folds differences that a user has declared irrelevant, by rules from a file that
// are applied to a finished diff.Report.
//
// It owns the format of the file and the limits of a rule: a rule may fold fields and remove
// findings that only concern these fields. It never removes a change from its list, never hides
// that an object is created, destroyed or replaced, and counts everything that it hides under the
// rule's name. It never reads files; the command line passes their content.
package ignore
