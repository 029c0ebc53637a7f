// registry keeps container images in a folder and serves them over plain HTTP.
//
// It is the registry of go-containerregistry, which keeps manifests in memory: here they are kept in the folder as well,
// and read back at the start. It asks nobody for a password, so it is for a network of one's own.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// What the specification allows as the name of a repository and as a tag or digest; nothing else becomes a file's name.
var manifestPath = regexp.MustCompile(
	`^/v2/([a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)/manifests/([A-Za-z0-9_][A-Za-z0-9._:-]{0,127})$`)

// The specification asks for at least 4 MiB.
const largestManifest = 4 << 20

// blobs are files that are named by their digest. They were checked when they came, and are not read again to say how
// large they are.
type blobs struct {
	registry.BlobHandler
	folder string
}

func (b blobs) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	found, err := os.Stat(filepath.Join(b.folder, h.Algorithm, h.Hex))
	if errors.Is(err, os.ErrNotExist) {
		return 0, registry.ErrNotFound
	} else if err != nil {
		return 0, err
	}
	return found.Size(), nil
}

func (b blobs) Put(ctx context.Context, repo string, h v1.Hash, content io.ReadCloser) error {
	return b.BlobHandler.(registry.BlobPutHandler).Put(ctx, repo, h, content)
}

func (b blobs) Delete(ctx context.Context, repo string, h v1.Hash) error {
	return b.BlobHandler.(registry.BlobDeleteHandler).Delete(ctx, repo, h)
}

// manifests are files as well: a folder for each repository, a file for each tag and digest. The first line of a file
// is the type of its content.
type manifests struct {
	next   http.Handler
	folder string
}

func (m manifests) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	path := manifestPath.FindStringSubmatch(request.URL.Path)
	writes := request.Method == http.MethodPut || request.Method == http.MethodDelete
	if !writes || !strings.Contains(request.URL.Path, "/manifests/") {
		m.next.ServeHTTP(answer, request)
		return
	}
	if path == nil {
		http.Error(answer, `{"errors":[{"code":"NAME_INVALID","message":"no name of a repository or a tag"}]}`, 400)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(answer, request.Body, largestManifest))
	if err != nil {
		http.Error(answer, `{"errors":[{"code":"SIZE_INVALID","message":"too large for a manifest"}]}`, 413)
		return
	}
	if strings.Contains(path[2], ":") && path[2] != digestOf(body) && request.Method == http.MethodPut {
		http.Error(answer, `{"errors":[{"code":"DIGEST_INVALID","message":"another content has that digest"}]}`, 400)
		return
	}
	kept := filepath.Join(m.folder, url.PathEscape(path[1]))
	if err := m.keep(request, kept, path[2], body); err != nil {
		log.Print(err)
		http.Error(answer, `{"errors":[{"code":"UNKNOWN","message":"the manifest cannot be kept"}]}`, 500)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	m.next.ServeHTTP(answer, request)
}

// keep changes the files before the registry answers: what was answered survives the end of this process.
func (m manifests) keep(request *http.Request, folder, reference string, body []byte) error {
	if request.Method == http.MethodDelete {
		err := os.Remove(filepath.Join(folder, reference))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	content := append([]byte(request.Header.Get("Content-Type")+"\n"), body...)
	digest := digestOf(body)
	for _, name := range []string{digest, reference} {
		if err := replace(filepath.Join(folder, name), content); err != nil {
			return err
		}
	}
	return nil
}

// replace gives a file a new content; a reader sees the old one or the new one, and two writers have a file each.
func replace(path string, content []byte) error {
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return err
	}
	_, err = beside.Write(content)
	if err := errors.Join(err, beside.Chmod(0o644), beside.Close()); err != nil {
		os.Remove(beside.Name())
		return err
	}
	return os.Rename(beside.Name(), path)
}

// restore tells the registry of all manifests that were kept; indexes come after the manifests that they name.
func (m manifests) restore() error {
	found, err := filepath.Glob(filepath.Join(m.folder, "*", "[A-Za-z0-9_]*"))
	if err != nil {
		return err
	}
	kept := make([]*http.Request, 0, len(found))
	for _, file := range found {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		kind, body, _ := bytes.Cut(content, []byte("\n"))
		repository, err := url.PathUnescape(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return err
		}
		path := fmt.Sprintf("/v2/%s/manifests/%s", repository, filepath.Base(file))
		request, err := http.NewRequest(http.MethodPut, path, bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", string(kind))
		kept = append(kept, request)
	}
	sort.SliceStable(kept, func(one, other int) bool { return !isIndex(kept[one]) && isIndex(kept[other]) })
	for _, request := range kept {
		m.next.ServeHTTP(&nobody{header: http.Header{}}, request)
	}
	return nil
}

func digestOf(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func isIndex(request *http.Request) bool {
	return types.MediaType(request.Header.Get("Content-Type")).IsIndex()
}

// nobody reads an answer.
type nobody struct{ header http.Header }

func (n *nobody) Header() http.Header               { return n.header }
func (n *nobody) Write(content []byte) (int, error) { return len(content), nil }
func (n *nobody) WriteHeader(int)                   {}

// removeUnfinished removes blobs and manifests that were not whole when the process ended.
func removeUnfinished(folder string) error {
	var failed error
	for _, pattern := range []string{"upload-*", filepath.Join("manifests", "*", ".*")} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		failed = errors.Join(failed, err)
		for _, file := range found {
			failed = errors.Join(failed, os.Remove(file))
		}
	}
	return failed
}

func run(folder, address string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	here := blobs{registry.NewDiskBlobHandler(folder), folder}
	handler := manifests{registry.New(registry.WithBlobHandler(here)), filepath.Join(folder, "manifests")}
	if err := errors.Join(removeUnfinished(folder), handler.restore()); err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ending, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		<-ending.Done()
		_ = server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func main() {
	folder := flag.String("folder", "", "where images are kept")
	address := flag.String("address", ":5000", "the address and port that it answers at")
	flag.Parse()
	if err := run(*folder, *address); err != nil {
		log.Fatal(err)
	}
}
