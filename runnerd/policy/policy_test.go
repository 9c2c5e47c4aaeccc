package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

const whole = `
enabled    = true
jobs       = ["plan", "apply"]
components = ["terraform_module"]

[debug]
logs    = true
timeout = "5m"

[actions]
free_env = true

[cluster]
exec = ["aws"]

[window]
days  = ["mon", "fri"]
hours = "22:00-06:00"
zone  = "Europe/Berlin"

[limits]
memory   = "512 MiB"
timeout  = "45m"
capacity = 3
`

func parsed(t *testing.T, text string) File {
	t.Helper()
	file, err := Parse("runner.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParse(t *testing.T) {
	friday := time.Date(2025, 11, 21, 23, 0, 0, 0, time.UTC) // midnight in Berlin
	got := parsed(t, whole).RuleAt(friday).RunnerPolicy
	want := api.RunnerPolicy{
		Jobs: &[]string{"plan", "apply"}, Components: &[]string{"terraform_module"},
		Debug:   api.DebugPolicy{Logs: true, TimeoutSeconds: 300},
		FreeEnv: true, ClusterExec: []string{"aws"},
		Window: "mon, fri 22:00-06:00 Europe/Berlin",
		Limits: api.RunnerLimits{MemoryBytes: 512 << 20, TimeoutSeconds: 2700, Capacity: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(api.RunnerPolicy{}, parsed(t, "# nothing\n").RuleAt(friday).RunnerPolicy); diff != "" {
		t.Errorf("an empty file forbids something: %s", diff)
	}
}

func TestWhatIsWrongIsSaidWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"enabeld = true\n[limits]\nram = \"1GiB\"":   "runner.toml:1:1: there is no enabeld in a runner file",
		"\n[limits]\nram = \"1GiB\"":                 "runner.toml:3:1: there is no limits.ram in a runner file",
		"enabled = 1":                                "runner.toml:1:11: ",
		"enabled = tru":                              "runner.toml:1:11: ",
		`jobs = ["plan", "deploy"]`:                  `runner.toml:1:17: "deploy" is no kind of job; there are build, sync, plan, apply, action, health`,
		"debug = true":                               "runner.toml:1:9: debug is a table; write [debug] with logs = true",
		`jobs = ["logs"]`:                            `"logs" is no kind of job`,
		`components = ["helm"]`:                      `runner.toml:1:15: "helm" is no kind of component`,
		"[window]\nzone = \"Europe/Paris2\"":         `runner.toml:2:8: "Europe/Paris2" is no time zone`,
		"[window]\nzone = \"Local\"":                 `"Local" is no time zone`,
		"[window]\nhours = \"8-18\"":                 `runner.toml:2:9: "8-18" are no hours`,
		"[window]\nhours = \"08:00-25:00\"":          `are no hours`,
		"[window]\nhours = \"24:00-06:00\"":          `are no hours`,
		"[window]\ndays = []\nzone = \"UTC\"":        `no days in its days`,
		"[window]\ndays = [\"monday\"]":              `"monday" is no day`,
		"[window]\nhours = \"08:00-18:00\"":          `[window] has no zone`,
		"[roles]\nallow = [\"123:role/a\"]":          `[roles] has "123:role/a" in allow; write the name of a role`,
		"[roles]\nbreak_glass = [\"nuon/a-repair\"]": `"nuon/a-repair" in break_glass; write the name of a role, without`,
		"[limits]\nmemory = \"1 GB\"":                `"1 GB" is no amount of memory`,
		"[limits]\nmemory = \"1 MiB\"":               `64 MiB at least`,
		"[limits]\nmemory = \"9999999999999GiB\"":    `is no amount of memory`,
		"[limits]\ntimeout = \"45\"":                 `"45" is no time limit`,
		"[limits]\ncapacity = 0":                     `the capacity 0; write a number`,
		"[limits]\ncapacity = -1":                    `the capacity -1`,
	} {
		_, err := Parse("runner.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestAFileOfTheWrongSize checks that a file that is empty while it is being written does not
// allow what it forbids.
func TestAFileOfTheWrongSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runner.toml")
	for content, want := range map[string]string{strings.Repeat("# much\n", maxFile/7+1): "more than 64 KiB",
		"": "it is empty"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
		if rule := (&FileWatcher{Path: path}).Reload(time.Now()); !rule.Off {
			t.Errorf("got %+v", rule)
		}
	}
}

func TestCheck(t *testing.T) {
	inside := time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC) // a Friday
	outside := inside.Add(24 * time.Hour)
	const office = "[window]\ndays=[\"fri\"]\nhours=\"08:00-18:00\"\nzone=\"UTC\"\n"
	for name, test := range map[string]struct {
		file            string
		at              time.Time
		kind, component string
		want            string // in the error; empty for allowed
	}{
		"no file says no": {"", inside, "apply", "sandbox", ""},
		"off":             {"enabled = false", inside, "plan", "sandbox", "enabled = false"},
		"kind":            {`jobs = ["plan"]`, inside, "apply", "sandbox", "does not allow jobs of kind apply"},
		"no kinds":        {`jobs = []`, inside, "plan", "sandbox", "does not allow jobs of kind plan"},
		"component": {`components = ["sandbox"]`, inside, "plan", "terraform_module",
			"does not allow components of kind terraform_module"},
		"a component unnamed": {`components = ["sandbox"]`, inside, "plan", "", "components of kind unknown"},
		"an action has none":  {`components = ["sandbox"]`, inside, "action", "", ""},
		"inside":              {office, inside, "apply", "sandbox", ""},
		"outside":             {office, outside, "apply", "sandbox", "applies and actions wait until Fri 28 Nov 08:00"},
		"outside, an action":  {office, outside, "action", "", "outside its window"},
		"outside, a sync":     {office, outside, "sync", "sandbox", ""},
		"a sync of a component": {`components = ["sandbox"]`, inside, "sync", "terraform_module",
			"components of kind terraform_module"},
		"health has no component": {`components = ["sandbox"]`, inside, "health", "", ""},
		"outside, a plan":         {office, outside, "plan", "sandbox", ""},
		"outside, but forbidden": {`jobs = ["apply"]` + "\n" + office, outside, "plan", "sandbox",
			"does not allow jobs of kind plan"},
		"outside, still forbids": {`components = ["sandbox"]` + "\n" + office, outside, "plan", "terraform_module",
			"does not allow components"},
		"a kind nobody knows yet": {"", inside, "debug", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := parsed(t, test.file).RuleAt(test.at).Check(test.kind, test.component)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestABrokenFileMeansOff(t *testing.T) {
	_, err := Parse("runner.toml", []byte("enabled = maybe"))
	rule := BrokenRule(parsed(t, whole), err, time.Now())
	if !rule.Off || rule.Limits.Capacity != 3 || !strings.Contains(rule.Reason, "runner.toml:1:11") {
		t.Errorf("got %+v", rule)
	}
	if rule.Check("plan", "terraform_module") == nil {
		t.Error("it takes a plan")
	}
}

func TestASpecIsWhatWasOffered(t *testing.T) {
	rule := parsed(t, `components = ["sandbox"]`).RuleAt(time.Now())
	plan := func(component string) api.JobSpec {
		return api.JobSpec{Kind: api.JobSpecKindPlan, Plan: api.PlanSpec{Deploy: api.DeploySpec{ComponentKind: component}}}
	}
	if err := rule.CheckSpec("plan", plan("sandbox")); err != nil {
		t.Error(err)
	}
	if err := rule.CheckSpec("plan", plan("terraform_module")); err == nil {
		t.Error("a component that is not allowed goes through")
	}
	sync := api.JobSpec{Kind: api.JobSpecKindSync, Sync: api.SyncSpec{ComponentKind: "terraform_module"}}
	if err := rule.CheckSpec("sync", sync); err == nil {
		t.Error("a sync of a component that is not allowed goes through")
	}
	copies := plan("sandbox")
	copies.Plan.From = api.ArtifactRef{Repository: "web", Digest: "sha256:web"}
	if err := rule.CheckSpec("plan", copies); err != nil {
		t.Error(err)
	}
	action := api.JobSpec{Kind: api.JobSpecKindAction, Action: api.ActionSpec{Action: "check", Steps: []api.ActionStep{
		{Name: "inline"}, {Name: "run", Source: api.ActionSource{Name: "actions:scripts"}},
	}}}
	if err := rule.CheckSpec("action", action); err != nil {
		t.Error(err)
	}
	rule.Jobs = &[]string{"action"}
	if err := rule.CheckSpec("action", action); err == nil || !strings.Contains(err.Error(),
		`action check copies the code of step "run": the runner's own file does not allow jobs of kind sync`) {
		t.Errorf("an action copies what the owner lets no sync copy: %v", err)
	}
	rule.Jobs = &[]string{"plan"}
	if err := rule.CheckSpec("plan", copies); err == nil || !strings.Contains(err.Error(), "jobs of kind sync") {
		t.Errorf("a plan copies what the owner lets no sync copy: %v", err)
	}
	if err := rule.CheckSpec("plan", plan("sandbox")); err != nil {
		t.Error(err)
	}
	if err := rule.CheckSpec("action", plan("sandbox")); err == nil ||
		!strings.Contains(err.Error(), "offered as action") {
		t.Errorf("another kind goes through: %v", err)
	}
}

// TestTheInstallOfAJob checks that a job belongs to one install, and to the one that a runner was started for.
func TestTheInstallOfAJob(t *testing.T) {
	deploy := func(id string) api.DeploySpec { return api.DeploySpec{InstallID: id, ComponentKind: "sandbox"} }
	for name, test := range map[string]struct {
		runner string
		spec   api.JobSpec
		want   string
	}{
		"the runner's": {"ins_1", api.JobSpec{Kind: api.JobSpecKindApply, Apply: api.ApplySpec{Deploy: deploy("ins_1")}}, ""},
		"secrets of the runner's": {"ins_1", api.JobSpec{Kind: api.JobSpecKindSecrets,
			Secrets: api.SecretsSpec{InstallID: "ins_1"}}, ""},
		"a build": {"ins_1", api.JobSpec{Kind: api.JobSpecKindBuild}, ""},
		"another": {"ins_1", api.JobSpec{Kind: api.JobSpecKindApply, Apply: api.ApplySpec{Deploy: deploy("ins_2")}},
			`for install "ins_2", and this runner was started for install ins_1`},
		"none": {"ins_1", api.JobSpec{Kind: api.JobSpecKindApply}, `for install ""`},
		"another behind the runner's": {"ins_1", api.JobSpec{Kind: api.JobSpecKindApply,
			Sync: api.SyncSpec{InstallID: "ins_1"}, Apply: api.ApplySpec{Deploy: deploy("ins_2")}}, `for install "ins_2"`},
		"two": {"", api.JobSpec{Kind: api.JobSpecKindHealth, Health: api.HealthSpec{InstallID: "ins_1",
			Parts: []api.HealthPart{{Deploy: deploy("ins_2")}}}}, `for the installs "ins_1" and "ins_2"`},
	} {
		t.Run(name, func(t *testing.T) {
			rule := Rule{}
			rule.Install = test.runner
			err := rule.CheckSpec(string(test.spec.Kind), test.spec)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheWindowOnDaysOnWhichTheClockIsSet(t *testing.T) {
	night := parsed(t, "[window]\ndays=[\"sat\"]\nhours=\"22:00-06:00\"\nzone=\"Europe/Berlin\"").Window
	for at, has := range map[string]bool{
		"2025-10-25T19:59:00Z": false, // Saturday 21:59
		"2025-10-25T20:00:00Z": true,
		"2025-10-26T04:59:00Z": true, // Sunday 05:59, after the repeated hour
		"2025-10-26T05:00:00Z": false,
		"2025-03-29T21:00:00Z": true,  // Saturday 22:00
		"2025-03-30T03:59:00Z": true,  // Sunday 05:59, after the skipped hour
		"2025-03-30T04:00:00Z": false, // Sunday 06:00
		"2025-10-24T21:00:00Z": false, // Friday 23:00
	} {
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if night.IsOpen(moment) != has {
			t.Errorf("%s: %v", at, !has)
		}
	}
}

// TestOpensIsWhenItOpens checks that NextOpen returns the first time at which a closed window
// is open, for any window, zone and time.
func TestOpensIsWhenItOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Window{Hours: Hours{rapid.IntRange(0, 1439).Draw(t, "from"), rapid.IntRange(0, 1439).Draw(t, "until")}}
		for _, day := range rapid.SliceOfDistinct(rapid.IntRange(0, 6), func(d int) int { return d }).Draw(t, "days") {
			w.Days = append(w.Days, Day(day))
		}
		// Zones without daylight saving time, because a skipped or repeated hour moves
		// the edge.
		if err := w.Zone.UnmarshalText([]byte(rapid.SampledFrom([]string{"UTC", "Asia/Kolkata", "America/Phoenix"}).Draw(t,
			"zone"))); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "at"), 0).Truncate(time.Minute)
		if w.IsOpen(at) {
			return
		}
		opens := w.NextOpen(at)
		if !w.IsOpen(opens) {
			t.Fatalf("closed when it opens, %v", opens)
		}
		if before := opens.Add(-time.Minute); before.After(at) && w.IsOpen(before) {
			t.Fatalf("open before it opens, %v", opens)
		}
		if opens.Sub(at) > 8*24*time.Hour {
			t.Fatalf("it opens in %v", opens.Sub(at))
		}
	})
}

func TestTimeoutOf(t *testing.T) {
	for _, test := range []struct{ spec, own, want time.Duration }{
		{0, 0, time.Hour}, {0, time.Minute, time.Minute}, {time.Minute, 0, time.Minute},
		{time.Minute, time.Second, time.Second}, {time.Second, time.Minute, time.Second},
	} {
		if got := (Limits{Timeout: Duration(test.own)}).TimeoutOf(test.spec, time.Hour); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

// TestWhatASpecMayBring checks that each part of a health job must be of an allowed kind,
// and that undeclared variables and login programs are off by default.
func TestWhatASpecMayBring(t *testing.T) {
	file, err := Parse("runner.toml", []byte("components = [\"helm_chart\"]\n[actions]\nfree_env = true\n[cluster]\n"+
		"exec = [\"aws\", \"/usr/bin/kubelogin\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	rule := file.RuleAt(time.Now())
	spec := func(kinds ...string) api.JobSpec {
		made := api.JobSpec{Kind: api.JobSpecKindHealth}
		for _, kind := range kinds {
			made.Health.Parts = append(made.Health.Parts, api.HealthPart{Deploy: api.DeploySpec{ComponentKind: kind}})
		}
		return made
	}
	if err := rule.CheckSpec("health", spec("helm_chart", "helm_chart")); err != nil {
		t.Error(err)
	}
	if err := rule.CheckSpec("health", spec("helm_chart", "kubernetes_manifest")); err == nil ||
		!strings.Contains(err.Error(), "kubernetes_manifest") {
		t.Errorf("a kind that is not allowed is looked at: %v", err)
	}
	if !rule.FreeEnv || !rule.MayExec("aws") || !rule.MayExec("/usr/bin/kubelogin") || rule.MayExec("kubelogin") ||
		rule.MayExec("/tmp/aws") || rule.WithoutExec().MayExec("aws") {
		t.Errorf("%+v", rule)
	}
	if none := Default().RuleAt(time.Now()); none.FreeEnv || none.MayExec("aws") || none.MayExec("") {
		t.Errorf("without a file: %+v", none)
	}
	for _, bad := range []string{"", "a/b", "../x", "/a/../b", "a b", "-x y"} {
		if _, err := Parse("runner.toml", []byte(fmt.Sprintf("[cluster]\nexec = [%q]\n", bad))); err == nil ||
			!strings.Contains(err.Error(), "is no program") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("[window]\nzone=\"UTC\"\ndays=[\"mon\"]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := Parse("runner.toml", content)
		if err != nil {
			return
		}
		rule := file.RuleAt(time.Unix(1_763_000_000, 0))
		if rule.Off && rule.Check("plan", "sandbox") == nil {
			t.Error("off, and takes a plan")
		}
	})
}

// TestAJobWithoutARole checks that a job of an install needs a role if the owner lists roles: without one, its programs
// would run with the identity of the runner.
func TestAJobWithoutARole(t *testing.T) {
	for text, refused := range map[string]bool{
		"": false, "[roles]\nallow = [\"a-*\"]\n": true, "[roles]\nallow = []\n": true,
		"[roles]\nallow = [\"a-*\"]\nown_identity = true\n": false,
	} {
		rule := parsed(t, text).RuleAt(time.Now())
		for _, kind := range []api.JobSpecKind{api.JobSpecKindPlan, api.JobSpecKindApply, api.JobSpecKindAction,
			api.JobSpecKindHealth, api.JobSpecKindSecrets} {
			err := rule.CheckSpec(string(kind), api.JobSpec{Kind: kind})
			if (err != nil && strings.Contains(err.Error(), "names no role")) != refused {
				t.Errorf("%q, %s: %v", text, kind, err)
			}
		}
		if err := rule.CheckSpec("build", api.JobSpec{Kind: api.JobSpecKindBuild}); err != nil {
			t.Errorf("%q, a build: %v", text, err)
		}
	}
}
