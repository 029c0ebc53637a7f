// Package main is helm, as helm.sh/helm/v4/cmd/helm builds it, from this module's versions.
//
// It has one word more than upstream's: "stackwright-runs 15s" stays for as long as somebody asks within that time, and
// does one run after another (runs.go).
package main

import (
	"errors"
	"os"
	"time"

	helmcmd "helm.sh/helm/v4/pkg/cmd"
	helmkube "helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	// The field manager that users see on what helm applied; upstream's main sets the same.
	helmkube.ManagedFieldsManager = "helm"
	if len(os.Args) == 3 && os.Args[1] == "stackwright-runs" {
		if idle, err := time.ParseDuration(os.Args[2]); err == nil {
			os.Exit(runs(os.Stdin, os.Stdout, idle))
		}
	}
	command, err := helmcmd.NewRootCmd(os.Stdout, os.Args[1:], helmcmd.SetupLogging)
	if err == nil {
		err = command.Execute()
	}
	os.Exit(code(err))
}

// code returns what helm exits with after that error.
func code(err error) int {
	var failed helmcmd.CommandError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		return failed.ExitCode
	default:
		return 1
	}
}
