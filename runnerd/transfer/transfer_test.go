package transfer

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

const size = 3 << 20

func TestWhatIsThereIsNotSentAgain(t *testing.T) {
	r := newRig(t, size)
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
	if r.layers.Load() != 1 || r.bytes.Load() != size {
		t.Errorf("%d requests for %d bytes", r.layers.Load(), r.bytes.Load())
	}
	sent := r.stored.Load()
	r.vendor.Close() // no request may be made to the vendor
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	if more := r.stored.Load() - sent; more != 0 || !strings.Contains(r.log.String(), "already") {
		t.Errorf("%d bytes were sent again\n%s", more, &r.log)
	}
	r.nothingLeft()
}

// TestAnInterruptedCopyGoesOn checks that a killed job leaves the bytes that arrived,
// and that the next one continues with them.
func TestAnInterruptedCopyGoesOn(t *testing.T) {
	r := newRig(t, size)
	ctx, interrupt := context.WithCancel(t.Context())
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		if r.layers.Load() == 1 {
			r.cut(w, request, size/2)
		}
		interrupt() // the rest is being requested
		<-request.Context().Done()
		return true
	}
	if _, err := (Sync{}).Run(ctx, r.env()); err == nil {
		t.Fatal("half of it is all of it")
	}
	left, err := os.Stat(r.file())
	if err != nil || left.Size() == 0 {
		t.Fatal("nothing is left of what came", err)
	}
	r.answer = nil
	before := r.bytes.Load()
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
	if came := r.bytes.Load() - before; came != size-left.Size() {
		t.Errorf("%d bytes came, want %d", came, size-left.Size())
	}
	if !strings.Contains(r.log.String(), "that were here already") {
		t.Error(&r.log)
	}
}

// TestWhatHasComeIsNotFetchedAgain checks a job that ended after the whole layer arrived
// and before it was stored.
func TestWhatHasComeIsNotFetchedAgain(t *testing.T) {
	r := newRig(t, size)
	r.refuse = func(w http.ResponseWriter, request *http.Request) bool {
		if request.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
		}
		return request.Method == http.MethodPost
	}
	err := r.sync()
	if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(r.install.URL, "http://")) ||
		!strings.Contains(err.Error(), "let the credential push") {
		t.Fatalf("got %v", err)
	}
	r.refuse = nil
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
	if r.bytes.Load() != size {
		t.Errorf("%d bytes came, want %d", r.bytes.Load(), size)
	}
}

func TestALineThatBreaksAgainAndAgain(t *testing.T) {
	r := newRig(t, size)
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		if r.layers.Load() < 7 {
			r.cut(w, request, size/8)
		}
		return false
	}
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
	if r.bytes.Load() >= 2*size {
		t.Errorf("%d bytes came for %d", r.bytes.Load(), size)
	}
}

func TestALineThatFallsSilent(t *testing.T) {
	r := newRig(t, size)
	r.silence = 2 * time.Second
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		if r.layers.Load() > 1 {
			return false
		}
		w.Header().Set("Content-Length", "3145728")
		_, _ = w.Write(r.packed.Layer[:size/2])
		_ = http.NewResponseController(w.(counting).ResponseWriter).Flush()
		<-request.Context().Done()
		return true
	}
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
	// Only the rest is requested. A machine so busy that it stalls itself
	// may send a part twice.
	silences := strings.Count(r.log.String(), "nothing came for")
	if silences == 0 || silences == 1 && r.bytes.Load() != size || r.bytes.Load() >= int64(1+silences)*size {
		t.Errorf("%d bytes came\n%s", r.bytes.Load(), &r.log)
	}
}

func TestARegistryThatCannotBeginInTheMiddle(t *testing.T) {
	r := newRig(t, size)
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		request.Header.Del("Range")
		if r.layers.Load() == 1 {
			r.cut(w, request, size/2)
		}
		return false
	}
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
}

func TestWhatAnEarlierJobLeftIsNotBelieved(t *testing.T) {
	for name, left := range map[string]int{"as long": size, "half": size / 2, "longer": size + 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, size)
			if err := os.MkdirAll(Dir(r.root), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(r.file(), make([]byte, left), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := r.sync(); err != nil {
				t.Fatal(err)
			}
			r.copied()
		})
	}
}

// flipped responds with one bit changed.
func (r *rig) flipped(w http.ResponseWriter) {
	changed := append([]byte{}, r.packed.Layer...)
	changed[len(changed)/2] ^= 1
	_, _ = w.Write(changed)
}

func TestDamageIsSeen(t *testing.T) {
	for name, test := range map[string]struct {
		times int64
		good  bool
	}{"once": {1, true}, "always": {1000, false}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, size)
			r.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				if r.layers.Load() > test.times {
					return false
				}
				r.flipped(w)
				return true
			}
			err := r.sync()
			if test.good {
				if err != nil {
					t.Fatal(err)
				}
				r.copied()
				return
			}
			if err == nil || !errors.Is(err, artifact.ErrDamaged) ||
				!strings.Contains(err.Error(), "the build "+r.parts.Digest+" of web is damaged") {
				t.Errorf("got %v", err)
			}
			if r.layers.Load() != 2 || r.stored.Load() != 0 {
				t.Errorf("%d requests, %d bytes were stored", r.layers.Load(), r.stored.Load())
			}
		})
	}
}

func TestTheVendorsSideInWords(t *testing.T) {
	for name, test := range map[string]struct {
		change func(r *rig, env *job.Env)
		want   []string
	}{
		"the build is gone": {func(r *rig, _ *job.Env) { r.parts.Digest = sha256digest.Of([]byte("x")) },
			[]string{"does not have the build sha256:", "of web any more", "build web anew"}},
		"its layer is gone": {func(r *rig, _ *job.Env) {
			r.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusNotFound); return true }
		}, []string{"does not have the build sha256:", "of web any more"}},
		"no longer at work": {func(_ *rig, env *job.Env) { env.Vendor.Credential = oci.Bearer("old") },
			[]string{"does not hand out the build", "unauthorized"}},
		"another size than said": {func(r *rig, _ *job.Env) {
			r.answer = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("short")); return true }
		}, []string{"is damaged in the vendor's registry"}},
		"away": {func(_ *rig, env *job.Env) { env.Vendor.Reference.Host = "127.0.0.1:1" },
			[]string{"could not be fetched from the control plane", "runnerd status"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, size)
			env := r.env()
			test.change(r, env)
			env.Spec.Sync.From.Digest = r.parts.Digest
			if name == "the build is gone" {
				r.parts.Digest = r.packed.Digest()
			}
			_, err := Sync{}.Run(t.Context(), env)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if r.stored.Load() != 0 {
				t.Errorf("%d bytes were stored", r.stored.Load())
			}
		})
	}
}

func TestARunnerWithoutARegistrySaysSo(t *testing.T) {
	r := newRig(t, 10)
	env := r.env()
	env.Install = nil
	if _, err := (Sync{}).Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "NUON_REGISTRY=host/path") {
		t.Errorf("got %v", err)
	}
}

func TestTheInstallsSideInWords(t *testing.T) {
	r := newRig(t, size)
	env := r.env()
	env.Install = &job.Registry{Reference: away(t)}
	if _, err := (Sync{}).Run(t.Context(), env); err == nil ||
		!strings.Contains(err.Error(), env.Install.Reference.Host) || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("got %v", err)
	}
	r.refuse = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusUnauthorized); return true }
	if err := r.sync(); err == nil || !strings.Contains(err.Error(), "unauthorized") ||
		strings.Contains(err.Error(), "control plane") {
		t.Errorf("got %v", err)
	}
}

// TestALayerThatWasLostIsBroughtBack checks that a registry that lost a layer but has
// the manifest gets the layer again, because nothing else would restore it.
func TestALayerThatWasLostIsBroughtBack(t *testing.T) {
	r := newRig(t, size)
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete,
		r.install.URL+"/v2/"+installRepository+"/blobs/"+r.parts.Layer.Digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusAccepted {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
}

// TestTwoCopiesAtOnce runs two jobs at once: one fetches, the other waits and finds the layer.
func TestTwoCopiesAtOnce(t *testing.T) {
	for name, other := range map[string]string{"to one repository": installRepository, "to two": installRepository + "2"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, size)
			var group sync.WaitGroup
			for _, to := range []string{installRepository, other} {
				group.Go(func() {
					env := r.env()
					env.Spec.Sync.To = to
					if _, err := (Sync{}).Run(t.Context(), env); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			r.copied()
			if other == installRepository && r.bytes.Load() != size {
				t.Errorf("%d bytes came, want %d", r.bytes.Load(), size)
			}
			if _, err := r.env().Install.Pull(t.Context(),
				api.ArtifactRef{Repository: other, Digest: r.parts.Digest}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAControlPlaneThatIsAwayForAWhile restarts the control plane in the middle of a copy.
func TestAControlPlaneThatIsAwayForAWhile(t *testing.T) {
	r := newRig(t, size)
	var tries atomic.Int64
	env := r.env()
	dead := away(t)
	alive := env.Vendor.Reference
	c := &copier{dir: Dir(r.root), log: env.Log, policy: retryPolicyOf(env.Timing)}
	err := c.retry(t.Context(), func() error {
		env.Vendor.Reference = dead
		if tries.Add(1) == 4 {
			env.Vendor.Reference = alive
		}
		from, err := env.Vendor.Open(vendorRepository)
		if err != nil {
			return err
		}
		_, err = from.Parts(t.Context(), r.parts.Digest)
		return err
	})
	if err != nil || tries.Load() != 4 || strings.Count(r.log.String(), "trying again") != 3 {
		t.Errorf("%d tries, %v\n%s", tries.Load(), err, &r.log)
	}
}

func TestAFullDisk(t *testing.T) {
	r := newRig(t, size)
	if err := os.MkdirAll(Dir(r.root), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", r.file()); err != nil {
		t.Fatal(err)
	}
	if err := r.sync(); err == nil || !strings.Contains(err.Error(), "no room for 3.0 MiB") ||
		!strings.Contains(err.Error(), Dir(r.root)) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Lstat(r.file()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it still takes room: %v", err)
	}
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
}

func TestWhatNobodyWentOnWithIsRemoved(t *testing.T) {
	r := newRig(t, size)
	if err := os.MkdirAll(Dir(r.root), 0o700); err != nil {
		t.Fatal(err)
	}
	young, old := Dir(r.root)+"/sha256-young", Dir(r.root)+"/sha256-old"
	for path, age := range map[string]time.Duration{young: keepFor - time.Hour, old: keepFor + time.Hour} {
		for _, name := range []string{path, path + ".lock"} {
			if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(-age)
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{young: true, young + ".lock": true, old: false, old + ".lock": false} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestALargeOneSaysHowFarItIs(t *testing.T) {
	r := newRig(t, progressFrom)
	if err := r.sync(); err != nil {
		t.Fatal(err)
	}
	r.copied()
	for _, want := range []string{"4.0 MiB of 8.0 MiB fetched", "sending 8.0 MiB to ",
		"copied " + r.parts.Digest + " (8.0 MiB)"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("%q is not said:\n%s", want, &r.log)
		}
	}
}
