// Asks RE2/J, the library in Kafka's broker, which texts each pattern matches as a whole, or why it is no pattern.
//
//   java -cp re2j-1.8.jar Ask.java < questions > answers
//
// The first line of the input are the texts, each other line is a pattern; all are in UTF-16, hexadecimal, texts with
// commas between them. An answer is `ok` with a 0 or 1 per text, or `no` with PatternSyntaxException.getDescription.

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

public class Ask {
    private static String decoded(String hex) {
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < hex.length(); at += 4) {
            text.append((char) Integer.parseInt(hex.substring(at, at + 4), 16));
        }
        return text.toString();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        List<String> texts = new ArrayList<>();
        for (String text : input.readLine().split(",", -1)) {
            texts.add(decoded(text));
        }
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                Pattern pattern = Pattern.compile(decoded(line));
                StringBuilder answer = new StringBuilder("ok ");
                for (String text : texts) {
                    answer.append(pattern.matcher(text).matches() ? "1" : "0");
                }
                System.out.println(answer);
            } catch (PatternSyntaxException error) {
                System.out.println("no " + error.getDescription());
            }
        }
    }
}
