// Package main is helm, as helm.sh/helm/v4/cmd/helm builds it, from this module's versions.
package main

import (
	"errors"
	"os"

	helmcmd "helm.sh/helm/v4/pkg/cmd"
	helmkube "helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	// The field manager that users see on what helm applied; upstream's main sets the same.
	helmkube.ManagedFieldsManager = "helm"
	command, err := helmcmd.NewRootCmd(os.Stdout, os.Args[1:], helmcmd.SetupLogging)
	if err == nil {
		err = command.Execute()
	}
	if err == nil {
		return
	}
	var failed helmcmd.CommandError
	if errors.As(err, &failed) {
		os.Exit(failed.ExitCode)
	}
	os.Exit(1)
}
