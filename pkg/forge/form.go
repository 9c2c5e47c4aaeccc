package forge

import "strings"

// Form is how a webhook is entered in the pages of a forge.
type Form struct {
	// Page is where the form is, from the repository's page on.
	Page string
	// Fields are to be filled in; {url} and {secret} in a value stand for the webhook's own.
	Fields []Field
	// Note is what else a person must know; empty if nothing.
	Note string
}

// Field is one field of a form, as its label calls it.
type Field struct{ Name, Value string }

// Fill returns the fields with the values of one webhook.
func (f Form) Fill(url, secret string) []Field {
	filled := make([]Field, len(f.Fields))
	put := strings.NewReplacer("{url}", url, "{secret}", secret)
	for i, field := range f.Fields {
		filled[i] = Field{Name: field.Name, Value: put.Replace(field.Value)}
	}
	return filled
}
