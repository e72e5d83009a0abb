// A Go program that uses Skillet through a client generated from the OpenAPI document.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example/skillet"
)

const prompt = "```bash\n" +
	`{ echo "<!doctype html><h1>Sold</h1><pre>"; sort -t, -k2 -nr rolls.csv; echo "</pre>"; } > sold.html && echo done` +
	"\n```\noutput: sold.html\n"

func main() {
	url, key := os.Args[1], os.Args[2]
	configuration := skillet.NewConfiguration()
	configuration.Servers = skillet.ServerConfigurations{{URL: url}}
	client := skillet.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), skillet.ContextAccessToken, key)
	if err := run(ctx, client); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *skillet.APIClient) error {
	file, err := rolls()
	if err != nil {
		return err
	}
	defer file.Close()
	asset, _, err := client.AssetsAPI.UploadAsset(ctx).File(file).Execute()
	if err != nil {
		return err
	}
	input := skillet.NewInputRequest()
	input.SetAssetId(asset.Id)
	request := job(prompt)
	request.SetInputs([]skillet.InputRequest{*input})
	job, _, err := client.JobsAPI.CreateJob(ctx).IdempotencyKey(asset.Id).CreateJob(request).Execute()
	for err == nil && job.FinishedAt.Get() == nil {
		time.Sleep(100 * time.Millisecond)
		job, _, err = client.JobsAPI.GetJob(ctx, job.Id).Execute()
	}
	if err != nil {
		return err
	}
	fmt.Println("job", job.Status, job.GetText())

	events, _, err := client.JobsAPI.ListEvents(ctx, job.Id).Execute()
	if err != nil {
		return err
	}
	for _, event := range events.Data {
		if completed := event.ToolCompletedEvent; completed != nil {
			fmt.Println("tool", completed.Data.Outcome)
		}
	}
	for _, output := range job.Outputs {
		content, _, err := client.AssetsAPI.GetAssetContent(ctx, output.Asset.Id).Execute()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		fmt.Println("output", output.Kind, output.Asset.Name, strings.ReplaceAll(string(text), "\n", " "))
	}
	return refused(ctx, client)
}

// Sends a request with an empty prompt, and prints the problem.
func refused(ctx context.Context, client *skillet.APIClient) error {
	_, response, err := client.JobsAPI.CreateJob(ctx).CreateJob(job("")).Execute()
	var refusal *skillet.GenericOpenAPIError
	if !errors.As(err, &refusal) {
		return fmt.Errorf("not refused: %w", err)
	}
	problem, ok := refusal.Model().(skillet.Problem)
	if !ok {
		return err
	}
	fmt.Println("refused", response.StatusCode, problem.Code, problem.Errors[0].Pointer)
	return nil
}

func job(prompt string) skillet.CreateJob {
	request := skillet.NewCreateJob(prompt)
	request.SetSkill("html")
	request.SetModel(skillet.ModelList{String: skillet.PtrString("script/bash")})
	return *request
}

// Creates the file to upload. Its name becomes the name of the asset.
func rolls() (*os.File, error) {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "rolls.csv")
	if err := os.WriteFile(path, []byte("rye,3\nspelt,4\n"), 0o600); err != nil {
		return nil, err
	}
	return os.Open(path)
}
