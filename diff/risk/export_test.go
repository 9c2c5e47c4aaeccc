package risk

// Tabled reports whether a rule is about attributes. TestEveryAttribute checks such rules against
// their examples.
func Tabled(r Rule) bool { return r.attribute.finds != nil || r.attribute.object != nil }
