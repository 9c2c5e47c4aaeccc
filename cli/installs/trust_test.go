package installs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/pins"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// liar is a fake control plane that returns any key and any install, another org in
// each response, and records what it receives.
type liar struct {
	key     seal.Identity
	holder  api.SealingKeyHolder
	install api.Install
	sent    []api.InputValue // sensitive inputs of all requests
	sentFor string           // id of the install of the last request
}

func hostile(t *testing.T) (*liar, *cmdenv.Env) {
	t.Helper()
	l := &liar{key: identity(t), holder: api.SealingKeyHolderRunner,
		install: api.Install{ID: "ins_acme", App: "hello", Name: "acme"}}
	take := func(install string, inputs []api.InputValue) {
		l.sentFor = install
		for _, in := range inputs {
			if in.Sensitive {
				l.sent = append(l.sent, in)
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sealing-key", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.SealingKey{KeyID: "key-lie", Recipient: l.key.Recipient().String(), Holder: l.holder,
			Org: identity(t).KeyID()})
	})
	mux.HandleFunc("GET /v1/apps/{app}", func(w http.ResponseWriter, r *http.Request) {
		give(w, api.App{ID: "app_1", Name: r.PathValue("app")})
	})
	mux.HandleFunc("GET /v1/installs", func(w http.ResponseWriter, _ *http.Request) { give(w, api.InstallList{}) })
	mux.HandleFunc("POST /v1/installs", func(w http.ResponseWriter, r *http.Request) {
		n := decode[api.NewInstall](t, r)
		take(n.ID, n.Inputs)
		give(w, api.CreatedInstall{Install: api.Install{ID: n.ID, App: n.App, Name: n.Name}})
	})
	mux.HandleFunc("DELETE /v1/installs/{install}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/installs/{install}", func(w http.ResponseWriter, _ *http.Request) { give(w, l.install) })
	for _, pattern := range []string{"PATCH /v1/installs/{install}", "POST /v1/installs/{install}/preview"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			take(r.PathValue("install"), decode[api.InstallChange](t, r).Inputs)
			give(w, l.install)
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	t.Setenv("NUON_CONFIG", filepath.Join(t.TempDir(), "config.toml"))
	t.Setenv("TOKEN", "hush")
	return l, &cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: &strings.Builder{},
		Err: &strings.Builder{}, Output: "table"}}
}

// do runs a command, checks its exit code, and returns its output and error. It first
// clears the record of what was sent.
func (l *liar) do(t *testing.T, e *cmdenv.Env, code int, line string) string {
	t.Helper()
	l.sent, l.sentFor = nil, ""
	var said strings.Builder
	e.Console.Out, e.Console.Err = &said, &said
	err := execute(t, New(e), strings.Fields(line)...)
	if exitcode.CodeOf(err) != code {
		t.Fatalf("%s ended with %v, want code %d", line, err, code)
	}
	if code != 0 && len(l.sent) > 0 {
		t.Fatalf("%s sent %+v", line, l.sent)
	}
	return said.String() + fmt.Sprint(err)
}

// opens checks that exactly one value was sent and that the key opens it.
func (l *liar) opens(t *testing.T, key seal.Identity) {
	t.Helper()
	if len(l.sent) != 1 {
		t.Fatalf("sent %+v", l.sent)
	}
	opened, err := key.Open(l.sent[0].Sealed, seal.InputContext(l.sentFor, l.sent[0].Name))
	if err != nil || string(opened.Reveal()) != "hush" {
		t.Fatalf("opened %q, %v", opened.Reveal(), err)
	}
}

func (l *liar) print() string { return l.key.Recipient().Fingerprint() }

const (
	updateToken = "update acme --secret token=env:TOKEN"
	createToken = "create acme --app hello --runner east --secret token=env:TOKEN"
)

func says(t *testing.T, said string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

// TestAPinnedKeyIsTheOnlyOne checks that after the first use no value is sealed to
// another recipient or to the control plane's own key, however the control plane
// describes the install, and that each error states what to do.
func TestAPinnedKeyIsTheOnlyOne(t *testing.T) {
	lies := map[string]func(*liar){
		"another key of a runner":     func(*liar) {},
		"the server's key":            func(l *liar) { l.holder = api.SealingKeyHolderServer },
		"a key of nobody":             func(l *liar) { l.holder = "" },
		"another id of the install":   func(l *liar) { l.install.ID = "ins_other" },
		"another app of that install": func(l *liar) { l.install.ID, l.install.App = "ins_other", "other" },
		"another id, server's key":    func(l *liar) { l.install.ID, l.holder = "ins_other", api.SealingKeyHolderServer },
		"another install":             func(l *liar) { l.install = api.Install{ID: "ins_new", App: "hello", Name: "new"} },
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			l, e := hostile(t)
			first := l.key
			says(t, l.do(t, e, 0, updateToken), "pinned the key of hello/acme on first use: "+l.print())
			l.opens(t, first)
			if said := l.do(t, e, 0, updateToken); strings.Contains(said, "first use") {
				t.Errorf("the second time it says\n%s", said)
			}
			l.opens(t, first)
			pinned := l.print()
			l.key = identity(t)
			lie(l)
			for _, line := range []string{updateToken, "update acme --preview --secret token=env:TOKEN"} {
				said := l.do(t, e, exitcode.Failed, line)
				says(t, said, "nothing was sent")
				if l.install.Name == "acme" {
					says(t, said, pinned, l.print(), "`runnerd status`", "nuon installs trust ")
				}
			}
			// By creating the name a second time, a sync of files could be made to bypass the pin.
			if l.install.App == "hello" && l.install.Name == "acme" {
				says(t, l.do(t, e, exitcode.Failed, createToken), pinned, l.print(), "--key-fingerprint")
			}
			// The right key is accepted, even if the control plane reports another holder.
			l.key, l.install = first, api.Install{ID: "ins_acme", App: "hello", Name: "acme"}
			l.do(t, e, 0, updateToken)
			l.opens(t, first)
		})
	}
}

// TestAnotherInstallsKeyIsNone checks that no value is sealed when the control
// plane answers with another pinned install, or gives that one this install's name.
func TestAnotherInstallsKeyIsNone(t *testing.T) {
	l, e := hostile(t)
	l.do(t, e, 0, updateToken)
	l.key, l.install = identity(t), api.Install{ID: "ins_globex", App: "hello", Name: "globex"}
	l.do(t, e, 0, "update globex --secret token=env:TOKEN")
	says(t, l.do(t, e, exitcode.Failed, updateToken), `returned install hello/globex (ins_globex) for "acme"`)
	l.install.Name = "acme"
	says(t, l.do(t, e, exitcode.Failed, updateToken), "install ins_globex is pinned as hello/globex")
}

// TestATypedNameMeansOneInstall checks that after the first use no value is sealed if the control plane answers with
// another install that has what the person typed as its id or its name, and that no text with a slash or a line break
// is a name.
func TestATypedNameMeansOneInstall(t *testing.T) {
	known := id.New("ins")
	for name, c := range map[string]struct {
		typed  string
		answer api.Install
	}{
		"name as id":           {"acme", api.Install{ID: "acme", App: "x", Name: "zzz"}},
		"app and name as name": {"hello/acme", api.Install{ID: "ins_x", App: "x", Name: "hello/acme"}},
		"app and name as id":   {"hello/acme", api.Install{ID: "hello/acme", App: "x", Name: "zzz"}},
		"app with a slash":     {"hello/acme", api.Install{ID: "ins_x", App: "hello/acme", Name: "acme"}},
		"id as name":           {known, api.Install{ID: "ins_x", App: "x", Name: known}},
		"id and name":          {known, api.Install{ID: known, App: "x", Name: known}},
		"two lines":            {"acme", api.Install{ID: "ins_x\nins_y", App: "x", Name: "acme"}},
	} {
		for _, holder := range []api.SealingKeyHolder{api.SealingKeyHolderRunner, api.SealingKeyHolderServer} {
			t.Run(name+", key of "+string(holder), func(t *testing.T) {
				l, e := hostile(t)
				l.install.ID = known
				update := "update " + c.typed + " --secret token=env:TOKEN"
				l.do(t, e, 0, update)
				l.key, l.holder, l.install = identity(t), holder, c.answer
				says(t, l.do(t, e, exitcode.Failed, update), "nothing was sent")
			})
		}
	}
}

// TestOfSeveralApps checks that a name without an app is refused once installs of several apps are pinned under it, and
// that the pin of one app is not used for the other.
func TestOfSeveralApps(t *testing.T) {
	l, e := hostile(t)
	l.do(t, e, 0, updateToken)
	hello := l.install
	l.key, l.install = identity(t), api.Install{ID: "ins_other", App: "other", Name: "acme"}
	other := "update other/acme --secret token=env:TOKEN"
	l.do(t, e, 0, other)
	l.opens(t, l.key)
	says(t, l.do(t, e, exitcode.Failed, updateToken), "hello/acme", "other/acme", "name the app")
	l.install.App = "hello"
	says(t, l.do(t, e, exitcode.Failed, "update hello/acme --secret token=env:TOKEN"), "is pinned as other/acme")
	// An app may have been named by its id when its install was created.
	l.key, l.install = identity(t), hello
	byID := strings.Replace(createToken, "--app hello", "--app "+id.New("app"), 1)
	says(t, l.do(t, e, exitcode.Failed, byID), "not the install whose key is pinned")
}

// TestUntilItsRunnerHasRegistered checks that the control plane's key is used until
// the runner registers, and is not pinned.
func TestUntilItsRunnerHasRegistered(t *testing.T) {
	l, e := hostile(t)
	l.holder = api.SealingKeyHolderServer
	if said := l.do(t, e, 0, createToken); strings.Contains(said, "pinned") {
		t.Errorf("said %s", said)
	}
	l.opens(t, l.key)
	says(t, l.do(t, e, exitcode.Failed, createToken+" --key-fingerprint "+identity(t).Recipient().Fingerprint()),
		"has not registered yet")
	says(t, l.do(t, e, exitcode.Failed, "trust acme"), "has not registered")
	l.key, l.holder = identity(t), api.SealingKeyHolderRunner
	says(t, l.do(t, e, 0, updateToken), "first use")
	l.opens(t, l.key)
}

// TestAGivenFingerprint checks that the key must have the given fingerprint, on the
// first use and in CI, and that the flag does not replace a pin.
func TestAGivenFingerprint(t *testing.T) {
	for _, line := range []string{updateToken, createToken} {
		l, e := hostile(t)
		right, wrong := l.print(), identity(t).Recipient().Fingerprint()
		says(t, l.do(t, e, exitcode.Usage, line+" --key-fingerprint "+l.key.KeyID()), "--key-fingerprint",
			"is no key fingerprint")
		says(t, l.do(t, e, exitcode.Failed, line+" --key-fingerprint "+wrong), wrong, right, "nothing was sent")
		says(t, l.do(t, e, 0, line+" --key-fingerprint "+strings.ToUpper(right)),
			"pinned the key of hello/acme: "+right)
		l.opens(t, l.key)
		l.install.ID = l.sentFor
		says(t, l.do(t, e, exitcode.Failed, updateToken+" --key-fingerprint "+wrong), wrong, right,
			"nuon installs trust hello/acme")
		l.key = identity(t)
		says(t, l.do(t, e, exitcode.Failed, updateToken+" --key-fingerprint "+l.print()),
			"the pinned key of hello/acme is "+right)
	}
}

// TestNowhereToPin checks that without a writable place for pins, a value is sealed
// only to a key whose fingerprint was given.
func TestNowhereToPin(t *testing.T) {
	l, e := hostile(t)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	t.Setenv("NUON_CONFIG", filepath.Join(file, "config.toml"))
	says(t, l.do(t, e, exitcode.Failed, updateToken), "read the pinned keys")
	for _, home := range []string{"NUON_CONFIG", "HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(home, "")
	}
	says(t, l.do(t, e, exitcode.Failed, updateToken), "NUON_CONFIG", "--key-fingerprint")
	says(t, l.do(t, e, 0, updateToken+" --key-fingerprint "+l.print()),
		"the next command needs --key-fingerprint again")
	l.opens(t, l.key)
}

// TestABrokenPinHoldsNothing checks that an unreadable pin is an error and does not
// count as a first use.
func TestABrokenPinHoldsNothing(t *testing.T) {
	l, e := hostile(t)
	l.do(t, e, 0, updateToken)
	dir, err := pins.Dir()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, text := range []string{"", "url = 1\n", "url"} {
		write(t, files[0], text)
		says(t, l.do(t, e, exitcode.Usage, updateToken), files[0])
	}
}

// TestSyncPinsEachInstall checks that fingerprints are given per install, and that
// only the install whose key does not match receives nothing.
func TestSyncPinsEachInstall(t *testing.T) {
	l, e := hostile(t)
	dir := written(t, map[string]string{"acme": "name = \"acme\"\n", "globex": "name = \"globex\"\n"})
	line := "sync " + dir + " --app hello --yes --runner east --secret token=env:TOKEN"
	says(t, l.do(t, e, exitcode.Usage, line+" --key-fingerprint initech="+l.print()), "initech")
	says(t, l.do(t, e, exitcode.Usage, line+" --key-fingerprint acme=key"), "--key-fingerprint acme")
	l.sent = nil
	wrong := identity(t).Recipient().Fingerprint()
	var said strings.Builder
	e.Console.Out, e.Console.Err = &said, &said
	err := execute(t, New(e), strings.Fields(line+" --key-fingerprint globex="+wrong+" --key-fingerprint acme="+
		l.print())...)
	if exitcode.CodeOf(err) != exitcode.Failed {
		t.Fatal(err)
	}
	says(t, said.String()+err.Error(), "pinned the key of hello/acme", "globex: --key-fingerprint is "+wrong)
	l.opens(t, l.key) // exactly one value: that of acme
	// If the control plane hides acme, the next sync creates it again, but seals only to
	// the pinned key.
	l.key = identity(t)
	says(t, l.do(t, e, exitcode.Failed, "sync "+written(t,
		map[string]string{"acme": "name = \"acme\"\n"})+" --app hello --yes --secret token=env:TOKEN"),
		"hello/acme is not the install whose key is pinned")
}

// TestTrust checks that only a person who compared the keys, or a script with the
// fingerprint, can pin another key.
func TestTrust(t *testing.T) {
	l, e := hostile(t)
	l.do(t, e, 0, updateToken)
	before := l.print()
	l.key = identity(t)
	right := l.install
	for _, lie := range []api.Install{{ID: "acme", App: "x", Name: "zzz"},
		{ID: "ins_x", App: "hello", Name: "acme\n  current  " + before}} {
		l.install = lie
		atATerminal(e, "yes\n")
		if said := l.do(t, e, exitcode.Failed, "trust acme"); strings.Contains(said, "Compare") {
			t.Errorf("asked about %+v:\n%s", lie, said)
		}
	}
	l.install, e.Console.InIsTerminal = right, false
	says(t, l.do(t, e, exitcode.Usage, "trust acme"), before, l.print(), "--key-fingerprint")
	says(t, l.do(t, e, exitcode.Failed, "trust acme --key-fingerprint "+before), "canceled: nothing was pinned")
	for _, answer := range []string{"", "y\n", "no\n"} {
		atATerminal(e, answer)
		says(t, l.do(t, e, exitcode.Rejected, "trust acme"), "pinned   "+before,
			"current  "+l.print(), "canceled: nothing was pinned")
	}
	l.do(t, e, exitcode.Failed, updateToken)
	atATerminal(e, "yes\n")
	says(t, l.do(t, e, 0, "trust acme"), "pinned the key of hello/acme: "+l.print())
	l.do(t, e, 0, updateToken)
	l.opens(t, l.key)

	before, l.key, e.Console.InIsTerminal = l.print(), identity(t), false
	var out strings.Builder
	e.Console.Out, e.Console.Output = &out, "json"
	if err := execute(t, New(e), "trust", "acme", "--key-fingerprint", l.print()); err != nil {
		t.Fatal(err)
	}
	var got trustResult
	want := trustResult{Name: "acme", ID: "ins_acme", App: "hello", Before: before, Fingerprint: l.print()}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got != want {
		t.Errorf("printed %s, %v", out.String(), err)
	}
	l.do(t, e, 0, updateToken)
	l.opens(t, l.key)
}

// TestAnInstallMadeAgain checks that an install created again has another key: trust
// accepts it, and forget drops the pin of the old one.
func TestAnInstallMadeAgain(t *testing.T) {
	l, e := hostile(t)
	l.do(t, e, 0, updateToken)
	l.key, l.install.ID = identity(t), "ins_again"
	says(t, l.do(t, e, exitcode.Failed, updateToken), "ins_acme", "nuon installs trust hello/acme")
	l.do(t, e, 0, "trust acme --key-fingerprint "+l.print())
	l.do(t, e, 0, updateToken)
	l.opens(t, l.key)
	l.key = identity(t)
	says(t, l.do(t, e, exitcode.Failed, createToken), "nuon installs forget hello/acme")
	l.do(t, e, 0, "forget hello/acme")
	l.do(t, e, 0, createToken)
	l.opens(t, l.key)
}

// TestGetShowsTheKey checks that get prints the key and whether it is the pinned one.
func TestGetShowsTheKey(t *testing.T) {
	l, e := hostile(t)
	says(t, l.do(t, e, 0, "get acme"), "key: none until its runner registers")
	l.install.KeyFingerprint = l.print()
	says(t, l.do(t, e, 0, "get acme"), "key "+l.print()+", not pinned on this machine")
	l.do(t, e, 0, updateToken)
	says(t, l.do(t, e, 0, "get acme"), "key "+l.print()+", pinned on this machine")
	pinned := l.print()
	l.install.KeyFingerprint = identity(t).Recipient().Fingerprint()
	says(t, l.do(t, e, 0, "get acme"), "DIFFERS from the pinned key "+pinned, "nuon installs trust hello/acme")
	e.Console.Output = "json"
	says(t, l.do(t, e, 0, "get acme"), `"pinned_key_fingerprint": "`+pinned+`"`,
		`"key_fingerprint": "`+l.install.KeyFingerprint+`"`)
}
