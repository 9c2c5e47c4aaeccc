package build_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// versionBuilds gives the number of the build that counts of each component of a version, by its number.
func (b *bench) versionBuilds(number int32) map[string]int32 {
	b.t.Helper()
	all := map[string]int32{}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		version, err := tx.VersionByNumber(ctx, b.org, b.app, number)
		if err != nil {
			return err
		}
		builds, err := tx.VersionBuilds(ctx, b.org, version.ID)
		if err != nil {
			return err
		}
		rows, err := tx.RolloutComponents(ctx, b.org, b.app)
		for _, built := range builds {
			for _, row := range rows {
				if row.ID == built.ComponentID {
					all[row.Name] = built.Number
				}
			}
		}
		return err
	})
	return all
}

// TestWhatAVersionIsBuiltFromIsRemembered: a code push under a version moves it, one under a later version does not, and code that
// cannot be built never counts.
func TestWhatAVersionIsBuiltFromIsRemembered(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	want := func(number int32, builds map[string]int32) {
		t.Helper()
		if diff := cmp.Diff(builds, b.versionBuilds(number)); diff != "" {
			t.Errorf("version %d: %s", number, diff)
		}
	}
	b.sync()
	want(1, map[string]int32{"sandbox": 1, "web": 1, "metrics": 1})
	repo.Write("modules/metrics/main.tf", "output \"port\" { value = 2 }\n")
	b.push("code, under version 1")
	want(1, map[string]int32{"sandbox": 1, "web": 1, "metrics": 2})

	repo.Write("app/components/metrics.toml", "max_auto_retries = 1\n"+component("metrics", "modules/metrics"), "modules/metrics/main.tf", "output \"port\" { value = 3 }\n")
	b.push("config and code: version 2")
	want(1, map[string]int32{"sandbox": 1, "web": 1, "metrics": 2})
	want(2, map[string]int32{"sandbox": 1, "web": 1, "metrics": 3})

	repo.Write("modules/web/main.tf", "module \"far\" {\n  source = \"example.org/far\"\n}\n")
	b.push("code that cannot be built")
	want(2, map[string]int32{"sandbox": 1, "web": 1, "metrics": 3})

	repo.Write("app/metadata.toml", "version = \"v2\"\ndisplay_name = \"Hello there\"\n")
	b.push("version 3, with code that still cannot be built: the new config with the old code was never meant by anybody")
	want(2, map[string]int32{"sandbox": 1, "web": 1, "metrics": 3})
	want(3, map[string]int32{"sandbox": 1, "metrics": 3})

	repo.Remove("app/components/metrics.toml")
	repo.Write("modules/web/main.tf", "output \"x\" { value = 1 }\n", "app/metadata.toml", "version = \"v2\"\ndisplay_name = \"Hello\"\n")
	b.push("version 4 has no metrics")
	want(2, map[string]int32{"sandbox": 1, "web": 1, "metrics": 3})
	want(4, map[string]int32{"sandbox": 1, "web": 2})

	repo.Write("app/components/metrics.toml", component("metrics", "modules/metrics"))
	b.push("the config of version 1 again, with the code of now")
	want(1, map[string]int32{"sandbox": 1, "web": 2, "metrics": 3})
}

// TestAFailedBuildOfAVersion counts for it, as it does for everybody.
func TestAFailedBuildOfAVersion(t *testing.T) {
	b := newBench(t, hello(t))
	b.connect(true)
	b.sync()
	b.end(b.builds("web")[0], api.JobResult{Status: api.JobResultStatusFailed, Error: "main.tf:1: no"})
	b.succeed("sandbox", "metrics")
	b.in(func(ctx context.Context, tx *store.Tx) error {
		version := *b.appRow().VersionID
		artifacts, err := tx.VersionArtifacts(ctx, b.org, version)
		if err != nil {
			return err
		}
		newest, err := tx.VersionBuilds(ctx, b.org, version)
		if len(artifacts) != 2 || len(newest) != 3 {
			t.Errorf("%d artifacts of %d builds", len(artifacts), len(newest))
		}
		for _, built := range newest {
			if built.ID == b.builds("web")[0].ID && !strings.Contains(built.Error, "main.tf:1") {
				t.Errorf("%+v", built)
			}
		}
		return err
	})
}
