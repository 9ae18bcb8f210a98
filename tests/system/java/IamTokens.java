import java.io.IOException;
import java.io.Reader;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Checks the token of Amazon MSK's IAM as the service does: a presigned request to connect, whose signature is made
 * again from the secret that belongs to its key. The client hears no more than "Access denied"; why, and what was let
 * in, stands in the file `told`.
 */
public final class IamTokens implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");
    private static final long LONGEST = 900;
    private static final long SKEW = 300;

    private final Path folder = Path.of(System.getProperty("iam.folder"));
    private final String region = System.getProperty("iam.region");

    private record Token(String value, String principalName, Long startTimeMs, long lifetimeMs)
            implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }
    }

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {}

    @Override
    public void handle(Callback[] callbacks) throws IOException, UnsupportedCallbackException {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback wanted) {
                wanted.token(checked(wanted.tokenValue()));
            } else if (!(callback instanceof OAuthBearerExtensionsValidatorCallback)) {
                throw new UnsupportedCallbackException(callback);
            }
        }
    }

    @Override
    public void close() {}

    private Token checked(String value) throws IOException {
        try {
            Properties keys = new Properties();
            try (Reader file = Files.newBufferedReader(folder.resolve("keys"))) {
                keys.load(file);
            }
            Token token = check(value, keys);
            tell("accepted " + token.principalName() + " signed " + token.startTimeMs());
            return token;
        } catch (GeneralSecurityException | RuntimeException why) {
            tell("refused: " + why.getMessage());
            throw new SaslAuthenticationException("[" + UUID.randomUUID() + "]: Access denied");
        }
    }

    private Token check(String value, Properties keys) throws GeneralSecurityException {
        require(value.matches("[A-Za-z0-9_-]+"), "not base64url without padding");
        URI uri = URI.create(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.UTF_8));
        String host = "kafka." + region + ".amazonaws.com";
        require("https".equals(uri.getScheme()) && host.equals(uri.getHost()) && "/".equals(uri.getPath()), "place");
        Map<String, String> query = new TreeMap<>();
        for (String pair : uri.getRawQuery().split("&")) {
            String[] parts = pair.split("=", 2);
            String earlier = query.put(decoded(parts[0]), decoded(parts[1]));
            require(earlier == null, "twice: " + parts[0]);
        }
        require("kafka-cluster:Connect".equals(query.get("Action")), "action");
        require("AWS4-HMAC-SHA256".equals(query.get("X-Amz-Algorithm")), "algorithm");
        require("host".equals(query.get("X-Amz-SignedHeaders")), "signed headers");
        // The one parameter that is added afterwards, and not signed.
        require(query.remove("User-Agent") != null, "no user agent");
        String signature = query.remove("X-Amz-Signature");

        String date = query.get("X-Amz-Date");
        long signed = LocalDateTime.parse(date, STAMP).toEpochSecond(ZoneOffset.UTC);
        long lasts = Long.parseLong(query.get("X-Amz-Expires"));
        long now = Instant.now().getEpochSecond() + Long.parseLong(keys.getProperty("ahead", "0"));
        require(lasts > 0 && lasts <= LONGEST, "lasts too long");
        require(signed <= now + SKEW, "signed in the future");
        require(now < signed + lasts, "expired");

        String[] credential = query.get("X-Amz-Credential").split("/", 2);
        String scope = date.substring(0, 8) + "/" + region + "/kafka-cluster/aws4_request";
        require(scope.equals(credential[1]), "scope " + credential[1]);
        String secret = keys.getProperty(credential[0] + ".secret");
        require(secret != null, "no such key");
        String session = keys.getProperty(credential[0] + ".session");
        require(session == null || session.equals(query.get("X-Amz-Security-Token")), "session token");
        require(session != null || !query.containsKey("X-Amz-Security-Token"), "a session token without a session");

        String expected = signature(query, host, date, scope, secret);
        require(MessageDigest.isEqual(bytes(expected), bytes(String.valueOf(signature))), "signature");
        String principal = keys.getProperty(credential[0] + ".principal");
        return new Token(value, principal, signed * 1000, (signed + lasts) * 1000);
    }

    /** AWS Signature Version 4 of a GET without a body. */
    private static String signature(Map<String, String> query, String host, String date, String scope, String secret)
            throws GeneralSecurityException {
        StringBuilder canonical = new StringBuilder();
        query.forEach((key, value) -> {
            canonical.append(canonical.isEmpty() ? "" : "&").append(encoded(key)).append('=').append(encoded(value));
        });
        String request = "GET\n/\n" + canonical + "\nhost:" + host + "\n\nhost\n" + hex(sha256(""));
        String toSign = "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hex(sha256(request));
        byte[] key = bytes("AWS4" + secret);
        for (String part : scope.split("/")) {
            key = hmac(key, part);
        }
        return hex(hmac(key, toSign));
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    private synchronized void tell(String line) throws IOException {
        Files.writeString(folder.resolve("told"), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static byte[] hmac(byte[] key, String words) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(bytes(words));
    }

    private static byte[] sha256(String words) throws GeneralSecurityException {
        return MessageDigest.getInstance("SHA-256").digest(bytes(words));
    }

    private static String decoded(String words) {
        return URLDecoder.decode(words, StandardCharsets.UTF_8);
    }

    /** As RFC 3986 has it, which Java's own does not. */
    private static String encoded(String words) {
        return URLEncoder.encode(words, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A").replace("%7E", "~");
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static byte[] bytes(String words) {
        return words.getBytes(StandardCharsets.UTF_8);
    }
}
