package risk

// Tabled reports whether a rule is about attributes, so that TestEveryAttribute holds it to its examples.
func Tabled(r Rule) bool { return r.attribute.finds != nil || r.attribute.object != nil }
