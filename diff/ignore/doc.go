// Package ignore folds away differences that somebody has said do not matter to them: rules in a file, applied to a finished
// diff.Report.
//
// It owns the form of the file and what a rule may hide: fields, and what other rules found in them alone. It never takes a change
// off its list, never hides that an object comes, goes or is replaced, and hides nothing without counting it under the rule's
// name. It never reads files; the command line gives it their content.
package ignore
