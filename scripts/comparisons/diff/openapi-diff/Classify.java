// Prints a line for each folder in that of the argument, in order: what openapi-diff says of its two contracts.

import java.nio.file.Files;
import java.nio.file.Path;
import org.openapitools.openapidiff.core.OpenApiCompare;

class Classify {
  public static void main(String[] args) throws Exception {
    try (var folders = Files.list(Path.of(args[0]))) {
      folders.sorted().map(Classify::kindOf).forEach(System.out::println);
    }
  }

  static String kindOf(Path folder) {
    try {
      var before = folder.resolve("before.yaml").toString();
      var after = folder.resolve("after.yaml").toString();
      return OpenApiCompare.fromLocations(before, after).isIncompatible() ? "breaking" : "compatible";
    } catch (RuntimeException error) {
      return "failed";
    }
  }
}
