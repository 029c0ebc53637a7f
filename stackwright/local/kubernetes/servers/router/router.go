// Package router is kube-router without its routes and Services: what enforces NetworkPolicies on a node.
//
// It takes kube-router's own flags, so that a released kube-router does in its place.
package router

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/cloudnativelabs/kube-router/v2/pkg/utils"
	"github.com/cloudnativelabs/kube-router/v2/pkg/version"
	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// How long the node's own object is waited for: the kubelet makes it.
const patience = 2 * time.Minute

// NewCommand returns the program.
func NewCommand() *cobra.Command {
	config := options.NewKubeRouterConfig()
	command := &cobra.Command{
		Use:          "kube-router",
		Short:        "Enforces NetworkPolicies on a node",
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			if config.Version {
				fmt.Printf("kube-router %s\n", version.Version)
				return nil
			}
			if config.RunRouter || config.RunServiceProxy {
				return fmt.Errorf("only the firewall is in this program; add --run-router=false --run-service-proxy=false")
			}
			return run(config)
		},
	}
	config.AddFlags(command.Flags())
	return command
}

func run(config *options.KubeRouterConfig) error {
	found, err := clientcmd.BuildConfigFromFlags(config.Master, config.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(found)
	if err != nil {
		return err
	}
	if err := await(client, config.HostnameOverride); err != nil {
		return err
	}
	stop := make(chan struct{})
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(stop)
	patient, cancel := context.WithTimeout(context.Background(), config.CacheSyncTimeout)
	defer cancel()
	for kind, synced := range factory.WaitForCacheSync(patient.Done()) {
		if !synced {
			return fmt.Errorf("%v could not be read within %s", kind, config.CacheSyncTimeout)
		}
	}
	var running sync.WaitGroup
	health, err := healthcheck.NewHealthController(config)
	if err != nil {
		return err
	}
	answering, err := answer(health)
	if err != nil {
		return err
	}
	beats := make(chan *healthcheck.ControllerHeartbeat, 10)
	health.SetAlive()
	running.Add(1)
	go health.RunCheck(beats, stop, &running)

	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	var lock sync.Mutex
	firewall, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &lock, tables, sets)
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods:       firewall.PodEventHandler,
		namespaces: firewall.NamespaceEventHandler,
		policies:   firewall.NetworkPolicyEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	running.Add(1)
	go firewall.Run(beats, stop, &running)

	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	<-asked
	close(stop)
	running.Wait()
	return answering.Close()
}

// answer serves the health check on loopback. Upstream's own server listens everywhere, and serves whatever the programs
// that are linked in here have registered, profiles among it.
func answer(health *healthcheck.HealthController) (*http.Server, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", health.HealthPort))
	if err != nil {
		return nil, err
	}
	paths := http.NewServeMux()
	paths.HandleFunc("/healthz", health.Handler)
	server := &http.Server{Handler: paths, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	return server, nil
}

func await(client kubernetes.Interface, node string) error {
	deadline := time.Now().Add(patience)
	for {
		_, err := utils.GetNodeObject(client, node)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
}
