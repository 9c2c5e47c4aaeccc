package inputs

import (
	"encoding/json"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// sealedPlaceholder is a placeholder for a sensitive value that nobody has entered yet.
var sealedPlaceholder = seal.Sealed{KeyID: "none", Ciphertext: []byte("none")}

// MarkEntered treats sensitive inputs that are named without a value as entered. The result is good
// enough for a dry run, but not for storage.
func MarkEntered(app *appconfig.App, given []api.InputValue) []api.InputValue {
	all := make([]api.InputValue, 0, len(given))
	for _, v := range given {
		if in, known := app.Input(v.Name); known && in.Sensitive && v.Value == "" && v.Sealed.IsZero() {
			v.Sealed = sealedPlaceholder
		}
		all = append(all, v)
	}
	return all
}

// DryRunValues returns values as Put would store them, for a dry run: a sensitive value counts as
// changed, and as sealed to the key of the install's runner, if that has one.
func DryRunValues(runner store.Runner, values []api.InputValue) ([]store.InstallInput, error) {
	key := ""
	if runner.Recipient != "" {
		to, err := seal.ParseRecipient(runner.Recipient)
		if err != nil {
			return nil, err
		}
		key = to.KeyID()
	}
	all := make([]store.InstallInput, 0, len(values))
	for _, v := range values {
		row := store.InstallInput{Name: v.Name, Value: &v.Value, Hash: store.PlainHash(v.Value)}
		if !v.Sealed.IsZero() {
			sealed, err := json.Marshal(seal.Sealed{KeyID: key, Ciphertext: sealedPlaceholder.Ciphertext})
			if err != nil {
				return nil, err
			}
			row.Value, row.Sealed, row.Hash = nil, sealed, "imagined"
		}
		all = append(all, row)
	}
	return all, nil
}
