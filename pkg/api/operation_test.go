package api_test

import (
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

func TestOperationOf(t *testing.T) {
	for _, test := range []struct{ method, path, id string }{
		{"GET", "/v1/jobs/job_1/logs", "getLogs"},
		{"GET", "/below/a/proxy/v1/runners/build/logs", "getRunnerLogs"},
		{"GET", "/v1/workflows/wfl_1/events", "streamWorkflow"},
		{"GET", "/v1/apps/hello", "getApp"},
		{"DELETE", "/v1/apps/hello", "deleteApp"},
		{"POST", "/runner/v1/lease", "lease"},
		{"GET", "/v1/jobs//logs", ""},
		{"PUT", "/v1/apps/hello", ""},
		{"GET", "/", ""},
	} {
		if o, found := api.OperationOf(test.method, test.path); o.ID != test.id || found != (test.id != "") {
			t.Errorf("%s %s is %+v, want %q", test.method, test.path, o, test.id)
		}
	}
}

func TestFindOperation(t *testing.T) {
	o, found := api.FindOperation("GetLogs")
	if !found || o.ID != "getLogs" || !o.Streams || o.ResponseTime() != time.Minute {
		t.Errorf("GetLogs is %+v", o)
	}
	if o, found := api.FindOperation("lease"); !found || o.Streams || o.ResponseTime() != 6*time.Minute {
		t.Errorf("lease is %+v", o)
	}
	if o, found := api.FindOperation("GetNothing"); found {
		t.Errorf("GetNothing is %+v", o)
	}
	all := api.Operations()
	if all[0].ID = "changed"; api.Operations()[0].ID == "changed" {
		t.Error("the result of Operations is shared")
	}
}
