package appconfig

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// roundTrip checks that an App survives storage as JSON.
func roundTrip(t *testing.T, app *App) {
	t.Helper()
	data, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	var back App
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app, &back); diff != "" {
		t.Errorf("the App changed on its way through JSON:\n%s", diff)
	}
	if app.Digest() != back.Digest() {
		t.Error("the digest changed on its way through JSON")
	}
}
