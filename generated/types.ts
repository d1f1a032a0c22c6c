// Generated from openapi.yaml by `npm run generate`. Do not edit.

export interface paths {
    "/pets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List animals
         * @description Returns an array of at most `limit` animals, in ascending order of `id`. For the next page, repeat the
         *     request with the `id` of the last animal as `after`. A page with fewer animals than `limit` is the last.
         *     If there are more, a `Link` header with `rel="next"` has the URL of the next page. A page costs the same
         *     at any depth. Animals that are added while you page cause no other animal to be repeated or skipped. Do
         *     not store `after` to poll for new animals: an animal with a lower `id` may appear later. On 400 the
         *     `message` names what is wrong. On 429 and 503 repeat the request after `Retry-After`, if that is short
         *     enough for you. To get a single animal by its `id`, send `after=<id - 1>&limit=1` and compare the `id` in
         *     the response: if this animal does not exist, you get the next one or an empty array.
         */
        get: operations["listPets"];
        put?: never;
        /**
         * Add an animal
         * @description Adds an animal and returns it with the `id` that the service assigns. The service rejects a request with
         *     an `id`. `status` has no default: if omitted, it stays absent. Send an `Idempotency-Key` of your own.
         *     After a lost response, a 409, a 429 or a 5xx, repeat the request with the same key: the animal is added
         *     once. Wait for `Retry-After` first if there is one and it is short enough for you. On 400 the `message`
         *     names each invalid field. On 422 the key belongs to another request.
         */
        post: operations["createPet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets/{petId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deprecated: get an animal
         * @deprecated
         * @description Deprecated: use `GET /pets?after=<id - 1>&limit=1`, and compare the `id` in the response. Returns the
         *     animal with this `id`, or 404 if there is none. On 429 and 503 repeat the request after `Retry-After`, if
         *     that is short enough for you.
         */
        get: operations["getPet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Pet: Pet;
        NewPet: NewPet;
        PetId: PetId;
        PetName: PetName;
        CategoryId: CategoryId;
        PetStatus: PetStatus;
        Error: Error;
        ErrorCode: ErrorCode;
    };
    responses: {
        /** @description The response is unchanged. Its `ETag` is still the one in `If-None-Match`. */
        NotModified: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                ETag: components["headers"]["ETag"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["UnchangedLink"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description A parameter or the body is missing, unknown or invalid. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The API key is missing or invalid. */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The resource does not exist. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The first request with this `Idempotency-Key` is still in progress. */
        IdempotencyKeyInUse: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The `Idempotency-Key` was used for a different request. */
        IdempotencyKeyReused: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The body is larger than the limit, or checking it would take too long. */
        BodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The operation does not accept this media type, or the body is compressed. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                "Accept-Encoding": components["headers"]["AcceptEncoding"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /**
         * @description The quota of a window is used up, or the key is banned. The service does not count the rejected request.
         *     The `message` says how long to wait, as does `Retry-After`.
         */
        TooManyRequests: {
            headers: {
                /** @description As with a 401. Only if the request has no valid key, with `unauthorized_limit_exceeded`. */
                "WWW-Authenticate"?: string;
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["RetryAfter"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description An error in the service. */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The service cannot handle the request at the moment. */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["RetryAfter"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description Any other error. */
        UnexpectedError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                /** @description As in the other responses; absent if no request was recognised. */
                "X-RateLimit-Limit"?: number;
                /** @description As in the other responses; absent if no request was recognised. */
                "X-RateLimit-Remaining"?: number;
                /** @description As in the other responses; absent if no request was recognised. */
                "X-RateLimit-Reset"?: bigint;
                Allow: components["headers"]["Allow"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
    };
    parameters: {
        /**
         * @description A unique value of your choice, such as a UUID: 1 to 255 characters, bare (without `<` and `>`) or in
         *     double quotes (an RFC 8941 string). While the response is stored, a repeated request with this key does
         *     not run again: it gets the first response, byte for byte, with `Idempotent-Replayed: true`. The service
         *     stores no 5xx, and no rejection before the operation runs.
         */
        IdempotencyKey: string;
        /**
         * @description Your own id for the request, which the response and the service's log repeat: 1 to 128 letters, digits,
         *     `.`, `_` and `-`. The service replaces any other value by a generated id.
         */
        RequestId: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description The id of the request, also in the service's log: the `X-Request-Id` that you sent (1 to 128 letters,
         *     digits, `.`, `_` and `-`), or a generated one.
         * @example 5f0c7d1e-4b57-4b6e-8e0e-0c2f6c7b1a55
         */
        RequestId: string;
        /**
         * @description The quota of the window (minute or day) with the fewest requests left.
         * @example 60
         */
        RateLimitLimit: number;
        /**
         * @description The number of requests left in that window.
         * @example 59
         */
        RateLimitRemaining: number;
        /**
         * @description When that window ends, in seconds since the Unix epoch.
         * @example 1795132860
         */
        RateLimitReset: bigint;
        /**
         * @description The quota of each window, `q`, and its length in seconds, `w`
         *     ([draft](https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/10/)).
         * @example "minute";q=60;w=60, "day";q=1000;w=86400
         */
        RateLimitPolicy: string;
        /**
         * @description The requests left in each window, `r`, and the seconds until it ends, `t` (same draft). During a ban
         *     none are left until its end.
         * @example "minute";r=59;t=60, "day";r=999;t=86400
         */
        RateLimit: string;
        /**
         * @description The entity tag of the response (RFC 9110, section 8.8.3). Send it as `If-None-Match` with the same
         *     request: you get a 304 without a body while the response would be the same.
         * @example "XKv3ySM8TqXnZGCbqHjBKqFRZ5k"
         */
        ETag: string;
        /**
         * @description The URL of the next page, `rel="next"` (RFC 8288); absent on the last page. Request it unchanged, or
         *     pass its `after` to the same operation.
         * @example <http://localhost:3000/v1/pets?limit=20&after=20>; rel="next"
         */
        NextLink: string;
        /**
         * @description The URL of the new animal (RFC 9110, section 10.2.2): until 2030-12-05 the deprecated operation `getPet`.
         *     The body already has every field of the animal.
         * @example http://localhost:3000/v1/pets/1
         */
        Location: string;
        /** @description Present if this is the stored response to an earlier request with the same `Idempotency-Key`. */
        IdempotentReplayed: "true";
        /**
         * @description When the operation was deprecated (RFC 9745). Only on deprecated operations.
         * @example @1795132800
         */
        Deprecation: string;
        /**
         * @description When the operation will be removed (RFC 8594). Only on deprecated operations.
         * @example Thu, 05 Dec 2030 00:00:00 GMT
         */
        Sunset: string;
        /**
         * @description The URL of the operation to use instead, `rel="successor-version"` (RFC 8288). Only on deprecated
         *     operations.
         * @example <http://localhost:3000/v1/pets>; rel="successor-version"
         */
        SuccessorLink: string;
        /**
         * @description As in the 200 of the same operation.
         * @example <http://localhost:3000/v1/pets?limit=20&after=20>; rel="next"
         */
        UnchangedLink: string;
        /**
         * @description The authentication scheme (RFC 6750), with `error="invalid_token"` if the request had an invalid key.
         * @example Bearer realm="Animal Store Service"
         */
        WwwAuthenticate: string;
        /**
         * @description The number of seconds to wait before retrying (RFC 9110, section 10.2.3): 1 with a 409 or a 503; with a
         *     429 up to 60 for the quota of a minute, up to 300 for a ban, and up to 86,400 for the quota of a day.
         *     Many retry helpers silently wait that long: set the longest wait that you want.
         * @example 1
         */
        RetryAfter: number;
        /**
         * @description The encoding in which to send bodies (RFC 9110, section 12.5.3). Only if the body was compressed.
         * @example identity
         */
        AcceptEncoding: "identity";
        /**
         * @description The methods that the path supports (RFC 9110, section 10.2.1). Only with 405.
         * @example GET, HEAD, POST
         */
        Allow: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listPets: {
        parameters: {
            query?: {
                /**
                 * @description The maximum number of animals to return.
                 * @example 20
                 */
                limit?: number;
                /**
                 * @description Return only animals with this status.
                 * @example available
                 */
                status?: PetStatus;
                /**
                 * @description Return the animals after this id, that of the last animal of the previous page.
                 * @example 20
                 */
                after?: bigint;
            };
            header?: {
                /**
                 * @description Your own id for the request, which the response and the service's log repeat: 1 to 128 letters, digits,
                 *     `.`, `_` and `-`. The service replaces any other value by a generated id.
                 */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of animals. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    RateLimit: components["headers"]["RateLimit"];
                    ETag: components["headers"]["ETag"];
                    Link: components["headers"]["NextLink"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Pet[];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["UnexpectedError"];
        };
    };
    createPet: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A unique value of your choice, such as a UUID: 1 to 255 characters, bare (without `<` and `>`) or in
                 *     double quotes (an RFC 8941 string). While the response is stored, a repeated request with this key does
                 *     not run again: it gets the first response, byte for byte, with `Idempotent-Replayed: true`. The service
                 *     stores no 5xx, and no rejection before the operation runs.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Your own id for the request, which the response and the service's log repeat: 1 to 128 letters, digits,
                 *     `.`, `_` and `-`. The service replaces any other value by a generated id.
                 */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The fields of the new animal. */
        requestBody: {
            content: {
                "application/json": NewPet;
            };
        };
        responses: {
            /** @description The added animal, with its `id`. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Pet;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["IdempotencyKeyInUse"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["UnexpectedError"];
        };
    };
    getPet: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Your own id for the request, which the response and the service's log repeat: 1 to 128 letters, digits,
                 *     `.`, `_` and `-`. The service replaces any other value by a generated id.
                 */
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                /**
                 * @description The identifier of the animal.
                 * @example 1
                 */
                petId: bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The requested animal. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    ETag: components["headers"]["ETag"];
                    Link: components["headers"]["SuccessorLink"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Pet;
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["UnexpectedError"];
        };
    };
}
/** @description An animal in the catalogue. */
export type Pet = {
    id: PetId;
    name: PetName;
    categoryId: CategoryId;
    status?: PetStatus;
};
/** @description An animal to add. */
export type NewPet = {
    name: PetName;
    categoryId: CategoryId;
    status?: PetStatus;
};
/**
 * Format: int64
 * @description The unique identifier of an animal, assigned by the service.
 */
export type PetId = bigint;
/** @description The name of the animal, stored and returned unchanged. */
export type PetName = string;
/**
 * Format: int64
 * @description The identifier of the category the animal belongs to.
 */
export type CategoryId = bigint;
/**
 * @description The availability of the animal.
 * @enum {string}
 */
export type PetStatus = "available" | "pending" | "sold";
/** @description The body of every error response. */
export type Error = {
    code: ErrorCode;
    /** @description A human-readable explanation. Its wording may change. */
    message: string;
    /**
     * Format: int32
     * @description The HTTP status code of the response.
     */
    status: number;
};
/**
 * @description A machine-readable error code. Codes may be added: handle an unknown one by its HTTP status.
 * @enum {string}
 */
export type ErrorCode = "invalid_request" | "invalid_json" | "malformed_request" | "missing_api_key" | "invalid_api_key" | "pet_not_found" | "route_not_found" | "method_not_allowed" | "request_timeout" | "idempotency_key_in_use" | "operation_gone" | "body_too_large" | "request_too_complex" | "uri_too_long" | "unsupported_media_type" | "idempotency_key_reused" | "idempotency_key_incomparable" | "rate_limit_exceeded" | "unauthorized_limit_exceeded" | "key_banned" | "headers_too_large" | "internal_error" | "not_implemented" | "unavailable";
