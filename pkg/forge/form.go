package forge

import "strings"

// Form describes how to enter a webhook in the pages of a forge.
type Form struct {
	// Page is the path to the form, starting from the repository's page.
	Page string
	// Fields are the fields to fill in; {url} and {secret} in a value stand for those of the
	// webhook.
	Fields []Field
	// Note is further advice; empty if there is none.
	Note string
}

// Field is one field of a form. Name is its label.
type Field struct{ Name, Value string }

// Fill returns the fields with the values of one webhook.
func (f Form) Fill(url, secret string) []Field {
	filled := make([]Field, len(f.Fields))
	replacer := strings.NewReplacer("{url}", url, "{secret}", secret)
	for i, field := range f.Fields {
		filled[i] = Field{Name: field.Name, Value: replacer.Replace(field.Value)}
	}
	return filled
}
