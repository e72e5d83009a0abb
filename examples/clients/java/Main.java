// A Java program that uses Skillet through a client generated from the OpenAPI document.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import skillet.ApiClient;
import skillet.ApiException;
import skillet.api.AssetsApi;
import skillet.api.JobsApi;
import skillet.model.CreateJob;
import skillet.model.Event;
import skillet.model.InputRequest;
import skillet.model.Job;
import skillet.model.Output;
import skillet.model.Problem;
import skillet.model.ToolCompletedEvent;

class Main {
  static final String PROMPT = """
      ```bash
      { echo "<!doctype html><h1>Sold</h1><pre>"; sort -t, -k2 -nr rolls.csv; echo "</pre>"; } > sold.html && echo done
      ```
      output: sold.html
      """;

  public static void main(String[] arguments) throws Exception {
    String url = arguments[0], key = arguments[1];
    ApiClient client = new ApiClient();
    client.updateBaseUri(url);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    var assets = new AssetsApi(client);
    var jobs = new JobsApi(client);

    // The name of the file becomes the name of the asset.
    Path rolls = Files.createTempDirectory("rolls").resolve("rolls.csv");
    Files.writeString(rolls, "rye,3\nspelt,4\n");
    var asset = assets.uploadAsset(rolls.toFile());
    var request = request(PROMPT).inputs(List.of(new InputRequest().assetId(asset.getId())));
    Job job = jobs.createJob(request, asset.getId(), null);
    while (job.getFinishedAt() == null) {
      Thread.sleep(100);
      job = jobs.getJob(job.getId(), null);
    }
    System.out.println("job " + job.getStatus() + " " + job.getText());

    for (Event event : jobs.listEvents(job.getId(), null, null, null, null).getData()) {
      if (event.getActualInstance() instanceof ToolCompletedEvent completed) {
        System.out.println("tool " + completed.getData().getOutcome());
      }
    }
    for (Output output : job.getOutputs()) {
      var content = assets.getAssetContent(output.getAsset().getId(), null, null, null, null);
      String text = Files.readString(content.toPath()).replace("\n", " ");
      System.out.println("output " + output.getKind() + " " + output.getAsset().getName() + " " + text);
    }
    try {
      jobs.createJob(request(""), null, null);
    } catch (ApiException refused) {
      var problem = new ObjectMapper().readValue(refused.getResponseBody(), Problem.class);
      String pointer = problem.getErrors().get(0).getPointer();
      System.out.println("refused " + refused.getCode() + " " + problem.getCode() + " " + pointer);
    }
  }

  static CreateJob request(String prompt) {
    return new CreateJob().skill("html").model("script/bash").prompt(prompt);
  }
}
