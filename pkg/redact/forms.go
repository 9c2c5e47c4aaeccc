package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
)

// formsOf gives the texts in which a value of MinLength bytes or more may show.
func formsOf(value []byte) []string {
	forms := []string{string(value)}
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, base64Forms(alphabet, value)...)
	}
	// A password in an address, such as that of a database.
	forms = append(forms, url.QueryEscape(string(value)), url.PathEscape(string(value)))
	return append(forms, jsonForms(value)...)
}

// base64Forms gives what of the value's base64 is sure to appear when it is encoded alone or within something longer. Base64
// writes three bytes as four characters, so the value can begin at three places of such a group; a character that it shares with
// an unknown neighbour is left out: that leaves at most four bits of its first and of its last byte.
func base64Forms(alphabet *base64.Encoding, value []byte) []string {
	forms := []string{alphabet.EncodeToString(value), alphabet.WithPadding(base64.NoPadding).EncodeToString(value)}
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		encoded := alphabet.EncodeToString(padded)
		first := (before*8 + 5) / 6
		forms = append(forms,
			encoded[first:len(padded)*8/6], // something follows
			encoded[first:],                // it ends what was encoded
			alphabet.WithPadding(base64.NoPadding).EncodeToString(padded)[first:],
		)
	}
	return forms
}

// jsonForms gives the value as it stands between the quotes of a JSON string, with and without the escapes that are only for
// HTML, and the same once more for JSON within JSON.
func jsonForms(value []byte) []string {
	var forms []string
	for _, html := range []bool{true, false} {
		once := jsonEscape(value, html)
		forms = append(forms, once, jsonEscape([]byte(once), html))
	}
	return forms
}

func jsonEscape(value []byte, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(string(value)); err != nil {
		return string(value) // a string always encodes; the plain form is looked for anyway
	}
	quoted := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return string(quoted[1 : len(quoted)-1])
}
