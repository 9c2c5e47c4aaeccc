package build_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestRegistryLogins: a build learns as whom it logs in to the registry of its image from the config as it is now, and
// for an application of Azure from the variables of the app.
func TestRegistryLogins(t *testing.T) {
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	const ecr = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/web"
	image := func(table string) string {
		return "type = \"container_image\"\nname = \"web\"\n" + table + "tag = \"1.4\"\n"
	}
	repo := withImage(t, `tag = "1.4"`)
	repo.Write("app/components/web.toml", image("[aws_ecr]\nregion = \"eu-central-1\"\nimage_url = \""+ecr+"\"\n"+
		"iam_role_arn = \"arn:aws:iam::444455556666:role/pull\"\n"))
	repo.Commit("ecr")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	own, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	use := seal.ModuleCredentialContext(b.org, "job_1", "x")
	login := func(address string) (found api.ModuleCredential, loginErr error) {
		all := b.builds("web")
		built := all[len(all)-1]
		b.in(func(ctx context.Context, tx *store.Tx) error {
			rows, err := tx.ViewJobs(ctx, b.org, []string{*built.JobID})
			if err != nil {
				return err
			}
			_, err = tx.ClaimJobs(ctx, store.ClaimJobsParams{OrgID: b.org, RunnerID: rows[0].Job.RunnerID, Most: 100,
				OfferSeconds: 60, Allowed: []string{"build"}})
			return err
		})
		b.in(func(ctx context.Context, tx *store.Tx) error {
			rows, err := tx.ViewJobs(ctx, b.org, []string{*built.JobID})
			if err != nil {
				return err
			}
			job := rows[0].Job
			attempt, err := tx.AttemptOfJob(ctx, b.org, job.ID, job.Attempt)
			if err != nil {
				return err
			}
			found, loginErr = build.RegistryLogin(build.NewModuleCredentials(b.store, key), ctx, tx,
				jobs.Attempt{Job: job, Row: attempt}, address, own.Recipient(), use)
			return nil
		})
		return found, loginErr
	}
	want := func(address string, want api.RegistryLogin) api.ModuleCredential {
		t.Helper()
		found, err := login(address)
		if diff := cmp.Diff(want, found.Login); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		return found
	}
	want("oci://"+ecr, api.RegistryLogin{Cloud: "aws", Role: "arn:aws:iam::444455556666:role/pull", ExternalID: b.org})
	want("oci://evil.test/web", api.RegistryLogin{})

	repo.Write("app/components/web.toml", image("[gcp_gar]\nregion = \"europe-west3\"\ngcp_project_id = \"acme\"\n"+
		"image_url = \"europe-west3-docker.pkg.dev/acme/x/web\"\nservice_account_email = \"pull@acme\"\n"))
	b.push("gar")
	want("oci://europe-west3-docker.pkg.dev/acme/x/web", api.RegistryLogin{Cloud: "gcp", ServiceAccount: "pull@acme"})

	acr := "[azure_acr]\nimage_url = \"acme.azurecr.io/web\"\nregistry_url = \"acme.azurecr.io\"\n"
	repo.Write("app/components/web.toml", image(acr))
	b.push("acr")
	want("oci://acme.azurecr.io/web", api.RegistryLogin{Cloud: "azure"})

	repo.Write("app/components/web.toml", image(acr+
		"tenant_id = \"acr_tenant\"\nclient_id = \"acr_client\"\nclient_secret_name = \"acr_secret\"\n"))
	b.push("an application")
	if _, err := login("oci://acme.azurecr.io/web"); !refusedAs(err, "missing_variable") {
		t.Errorf("without variables: %v", err)
	}
	sealed, err := key.Recipient().Seal(seal.AppVariableContext(b.org, b.app, "acr_secret"), []byte("s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		for name, value := range map[string]string{"acr_tenant": "t1", "acr_client": "c1", "acr_secret": ""} {
			put := store.PutAppVariableParams{OrgID: b.org, AppID: b.app, Name: name, Value: &value, Hash: "h", UpdatedBy: "ada"}
			if value == "" {
				put.Value, put.Sealed = nil, encoded
			}
			if err := tx.PutAppVariable(ctx, put); err != nil {
				return err
			}
		}
		return nil
	})
	found := want("oci://acme.azurecr.io/web", api.RegistryLogin{Cloud: "azure", Tenant: "t1", Client: "c1"})
	if found.Secret == nil {
		t.Fatal("there is no secret")
	}
	if secret, err := own.Open(*found.Secret, use); err != nil || string(secret.Reveal()) != "s3cret" {
		t.Errorf("the secret is %s, %v", secret.Reveal(), err)
	}
}
