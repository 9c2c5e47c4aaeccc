package store

import "github.com/jackc/pgx/v5"

// Raw is the transaction of a unit of work.
func Raw(t *Tx) pgx.Tx { return t.tx }

// Statements are queries of which tests look at the plans.
var Statements = map[string]string{
	"DropHealthJobs": dropHealthJobs, "DropRefusalsOfWorkflow": dropRefusalsOfWorkflow, "RetainJobs": retainJobs, "RetainRunnerLogs": retainRunnerLogs,
	"RetainWorkflows": retainWorkflows, "StoredPlaces": storedPlaces, "ViewWorkflows": viewWorkflows,
}
