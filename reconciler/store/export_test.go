package store

// Statements are queries of which tests look at the plans.
var Statements = map[string]string{
	"DropHealthJobs": dropHealthJobs, "DropRefusalsOfWorkflow": dropRefusalsOfWorkflow, "RetainJobs": retainJobs, "RetainRunnerLogs": retainRunnerLogs,
	"RetainWorkflows": retainWorkflows, "StoredPlaces": storedPlaces, "ViewWorkflows": viewWorkflows,
}
