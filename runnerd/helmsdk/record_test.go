//go:build !race

package helmsdk

import "testing"

// A record that is too large is refused before anything is created, and RecordSize
// returns the actual size.
func TestRecordTooLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// A file that no template reads makes the record large, and nothing parses it.
	p := r.plan(app(tree{"a": configMap("a")}).with(tree{"large.bin": noise(MaxRecord)}), nil)
	if size, err := RecordSize(p.chart, nil, p.rendered); err != nil || size <= MaxRecord {
		t.Fatalf("%d, %v", size, err)
	}
	if _, err := r.try(t.Context(), p); err == nil {
		t.Error("the server took it")
	}
	if r.get("ConfigMap", "a") != nil {
		t.Error("something was created")
	}
	p = r.plan(app(tree{"a": configMap("a", `x: "{{ randAlphaNum 20000 }}"`)}).with(
		tree{"large.bin": noise(MaxRecord / 4)}), nil)
	size, err := RecordSize(p.chart, nil, p.rendered)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.try(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	got := len(r.data("ConfigMap", "sh.helm.release.v1.web.v1", "release"))
	if got > size || got < size-1000 {
		t.Errorf("the record has %d bytes, %d were told", got, size)
	}
}
