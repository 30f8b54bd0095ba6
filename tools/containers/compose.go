package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
)

// longestStop is how long the program may take to stop.
const longestStop = 20 * time.Second

// checkCompose reads compose.yaml as the real program does: once with its defaults, once on another port.
func checkCompose(ctx context.Context, root fs.FS, img image, settings []string) []string {
	p := &problems{file: "compose.yaml"}
	project, ok := load(ctx, p, root, nil)
	if !ok {
		return p.all
	}
	app, hasApp := project.Services["app"]
	db, hasDB := project.Services["db"]
	p.must(hasApp && hasDB, "there must be the services app and db")
	if !hasApp || !hasDB {
		return p.all
	}
	checkPorts(p, project, "8080")
	if moved, ok := load(ctx, p, root, types.Mapping{"APP_PORT": "9090"}); ok {
		checkPorts(p, moved, "9090")
	}
	for _, name := range project.ServiceNames() {
		checkRights(p, project.Services[name])
		checkVolumes(p, root, project, project.Services[name])
	}
	checkApp(p, app, img, settings)
	checkDatabase(p, app, db)
	return p.all
}

func load(ctx context.Context, p *problems, root fs.FS, environment types.Mapping) (*types.Project, bool) {
	text, err := fs.ReadFile(root, "compose.yaml")
	if err != nil {
		p.add("%v", err)
		return nil, false
	}
	logrus.SetOutput(io.Discard)
	project, err := loader.LoadWithContext(ctx, types.ConfigDetails{
		WorkingDir: "/project", Environment: environment,
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: text}},
	}, func(o *loader.Options) { o.SetProjectName("check", false) })
	if err != nil {
		p.add("%v", err)
		return nil, false
	}
	return project, true
}

// checkPorts wants one published port, and it is the one that APP_PORT names.
func checkPorts(p *problems, project *types.Project, port string) {
	published := 0
	for _, name := range project.ServiceNames() {
		s := project.Services[name]
		p.must(s.NetworkMode == "", "%s must not use the network %q", name, s.NetworkMode)
		for _, mapped := range s.Ports {
			published++
			p.must(name == "app", "%s is published: only app may be", name)
			p.must(mapped.HostIP == "127.0.0.1", "port %s must be bound to 127.0.0.1, not to every address of the machine", mapped.Published)
			p.must(mapped.Published == port, "with APP_PORT=%s the port %s is published", port, mapped.Published)
			listens := value(s, "HTTP_ADDR")
			p.must(listens == "0.0.0.0:"+strconv.Itoa(int(mapped.Target)), "port %d is published, but HTTP_ADDR is %q", mapped.Target, listens)
		}
	}
	p.must(published == 1, "%d ports are published, not one", published)
	if want := "http://localhost:" + port; value(project.Services["app"], "BASE_URL") != want {
		p.add("with APP_PORT=%s, BASE_URL must be %s", port, want)
	}
}

// checkRights wants every service without rights, with a health check that needs no shell, and back after a fall.
func checkRights(p *problems, s types.ServiceConfig) {
	p.must(slices.Equal(s.CapDrop, []string{"ALL"}) && len(s.CapAdd) == 0 && !s.Privileged, "%s must drop all capabilities", s.Name)
	p.must(slices.Contains(s.SecurityOpt, "no-new-privileges:true"), "%s must have no-new-privileges", s.Name)
	p.must(s.ReadOnly, "%s must have a read-only file system", s.Name)
	p.must(s.Restart == types.RestartPolicyUnlessStopped, "%s must be restarted unless it was stopped", s.Name)
	test := healthTest(s)
	p.must(len(test) > 1 && test[0] == "CMD", "%s needs a health check in the form [CMD, program, argument]", s.Name)
	if s.Image != "" {
		_, tag, tagged := strings.Cut(s.Image, ":")
		p.must(tagged && tag != "latest", "%s: name a version of the image %s", s.Name, s.Image)
		p.must(s.User != "" && s.User != "root" && s.User != "0", "%s must not run as root", s.Name)
	}
}

func checkVolumes(p *problems, root fs.FS, project *types.Project, s types.ServiceConfig) {
	for _, v := range s.Volumes {
		switch v.Type {
		case types.VolumeTypeVolume:
			_, declared := project.Volumes[v.Source]
			p.must(v.Source != "" && declared, "%s: %s needs a named volume, or nobody finds the data again", s.Name, v.Target)
		case types.VolumeTypeBind:
			file := strings.TrimPrefix(v.Source, "/project/")
			_, err := fs.Stat(root, file)
			p.must(err == nil, "%s: there is no %s to mount", s.Name, file)
			p.must(v.ReadOnly, "%s: %s must be mounted read-only", s.Name, file)
		}
	}
}

func checkApp(p *problems, app types.ServiceConfig, img image, settings []string) {
	p.must(app.DependsOn["db"].Condition == types.ServiceConditionHealthy, "app must wait until db is healthy")
	p.must(app.StopGracePeriod != nil && time.Duration(*app.StopGracePeriod) > longestStop,
		"stop_grace_period of app must be above %v, or it is killed at its work", longestStop)
	p.must(app.User == "" || numericUser.MatchString(app.User), "app must not run as %s", app.User)
	if test := healthTest(app); len(img.entrypoint) > 0 && len(test) > 1 {
		p.must(slices.Equal(test[1:], []string{img.entrypoint[0], "healthcheck"}), "app must be asked by its own binary: %s healthcheck", img.entrypoint[0])
	}
	p.must(value(app, "DEMO") == "true", "app must run the demo")
	data := value(app, "DATA_DIR")
	p.must(data != "" && slices.ContainsFunc(app.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == data }),
		"DATA_DIR %s must be a volume: the rest cannot be written to", data)
	p.must(slices.ContainsFunc(img.targets, func(t string) bool { return data != "" && strings.HasPrefix(data, t) && t != "/" }),
		"the image must hold the folder %s, whose owner the volume takes", data)
	for _, environment := range []map[string]string{img.env, values(app)} {
		for name := range environment {
			p.must(slices.Contains(settings, name), "app has no setting %s", name)
		}
	}
}

// checkDatabase wants the health check to knock at the program's own door, and nobody else to reach the server.
func checkDatabase(p *problems, app, db types.ServiceConfig) {
	test := strings.Join(healthTest(db), " ")
	p.must(strings.Contains(test, "-h 127.0.0.1"), "db must be asked over TCP: while it is made, it answers on its socket and nowhere else")
	roles := map[string]bool{}
	for _, name := range []string{"DATABASE_URL", "MIGRATION_DATABASE_URL"} {
		u, err := url.Parse(value(app, name))
		p.must(err == nil && u.Hostname() == "db" && u.Path != "", "%s must name the server db", name)
		if err != nil || u.User == nil {
			continue
		}
		roles[u.User.Username()] = true
		if name == "DATABASE_URL" {
			p.must(strings.Contains(test, "-U "+u.User.Username()) && strings.Contains(test, "-d "+strings.TrimPrefix(u.Path, "/")),
				"db must be asked as %s, on the database of the program", u.User.Username())
		}
	}
	p.must(len(roles) == 2, "owner and program must be two roles")
	for network := range db.Networks {
		_, shared := app.Networks[network]
		p.must(shared, "app cannot reach the network %s of db", network)
		p.must(network != "default", "db must be on a network of its own, without a way out")
	}
}

func healthTest(s types.ServiceConfig) []string {
	if s.HealthCheck == nil || s.HealthCheck.Disable {
		return nil
	}
	return s.HealthCheck.Test
}

func value(s types.ServiceConfig, name string) string { return values(s)[name] }

func values(s types.ServiceConfig) map[string]string {
	all := map[string]string{}
	for name, v := range s.Environment {
		if v != nil {
			all[name] = *v
		}
	}
	return all
}

// settingNames reads the names of the program's settings from the struct tags of its configuration.
func settingNames(root fs.FS) ([]string, error) {
	text, err := fs.ReadFile(root, "cmd/app/config.go")
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", text, 0)
	if err != nil {
		return nil, err
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if name, tagged := reflect.StructTag(tag).Lookup("env"); err == nil && tagged {
			names = append(names, name)
		}
		return true
	})
	return names, nil
}
