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
         * @description The animals in ascending order of `id`, a page at a time. While there are more, the answer
         *     carries `Link: <…>; rel="next"`: follow it as it is. The last page has no such link. Pages
         *     cost the same at any depth, and adding animals during a walk neither repeats nor shifts the
         *     ones that were there.
         */
        get: operations["listPets"];
        put?: never;
        /**
         * Add an animal
         * @description Adds one animal. The service assigns its `id`, which a request must not supply. A `status`
         *     that is left out stays absent.
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
         * Get an animal
         * @deprecated
         * @description Reads one animal by its identifier. Deprecated: use `GET /pets` with its `status` filter.
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
        /** @description A parameter or the body is missing, unknown or invalid. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description Missing or invalid API key. */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
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
        /** @description The requested resource could not be found. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The first request with this `Idempotency-Key` is still under way. */
        IdempotencyKeyInUse: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The `Idempotency-Key` belongs to another request. */
        IdempotencyKeyReused: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The body is longer than the service takes. */
        BodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The body is of a type that the operation does not take, or compressed. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                "Accept-Encoding": components["headers"]["AcceptEncoding"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The window is used up, or the key is banned for a while. The rejected request is not counted. */
        TooManyRequests: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
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
        /** @description A fault of the service. */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
                Deprecation: components["headers"]["Deprecation"];
                Sunset: components["headers"]["Sunset"];
                Link: components["headers"]["SuccessorLink"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Error;
            };
        };
        /** @description The service cannot answer for now. */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
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
                /** @description See the other answers. */
                "X-RateLimit-Limit"?: number;
                /** @description See the other answers. */
                "X-RateLimit-Remaining"?: number;
                /** @description See the other answers. */
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
         * @description Of the caller's own making, such as a UUID, bare or in double quotes (a string of RFC 8941): 1 to 255 characters.
         *     Another request with it is not done again within `x-idempotency`: it gets the first answer, byte for byte, with
         *     `Idempotent-Replayed: true`. A 5xx is not kept, nor what is refused before the operation is reached.
         * @example "8e03978e-40d5-43dd-bc93-6894a57f9324"
         */
        IdempotencyKey: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description Identifies the request, in the service's log too: the caller's own `X-Request-Id` (1 to 128
         *     letters, digits, `.`, `_` and `-`), or one made for it.
         * @example 5f0c7d1e-4b57-4b6e-8e0e-0c2f6c7b1a55
         */
        RequestId: string;
        /**
         * @description The requests that the window allows. Of the two windows, the one with the least left.
         * @example 60
         */
        RateLimitLimit: number;
        /**
         * @description The requests that are left in that window.
         * @example 59
         */
        RateLimitRemaining: number;
        /**
         * @description When that window ends, in seconds since the Unix epoch.
         * @example 1795132860
         */
        RateLimitReset: bigint;
        /**
         * @description RFC 8288. While there are more animals: the next page, `rel="next"`, which the last page lacks. Follow the link, or
         *     pass its `cursor` to the same operation.
         * @example </v1/pets?limit=20&cursor=MXwqfDIw>; rel="next"
         */
        NextLink: string;
        /**
         * @description Where the new animal can be read (RFC 9110, section 10.2.2).
         * @example /v1/pets/1
         */
        Location: string;
        /** @description The request was done before, with the same `Idempotency-Key`, and this is the answer it got. */
        IdempotentReplayed: "true";
        /**
         * @description Since when the operation is deprecated (RFC 9745). Only on deprecated operations.
         * @example @1795132800
         */
        Deprecation: string;
        /**
         * @description When the operation is to be removed (RFC 8594). Only on deprecated operations.
         * @example Thu, 05 Dec 2030 00:00:00 GMT
         */
        Sunset: string;
        /**
         * @description RFC 8288. What to use instead, `rel="successor-version"`. Only on deprecated operations.
         * @example </v1/pets>; rel="successor-version"
         */
        SuccessorLink: string;
        /**
         * @description RFC 6750. `error="invalid_token"` when a key was sent and is not valid.
         * @example Bearer realm="Animal Store Service"
         */
        WwwAuthenticate: string;
        /**
         * @description Whole seconds to wait before the next try (RFC 9110, section 10.2.3).
         * @example 1
         */
        RetryAfter: number;
        /**
         * @description How a body is to be sent (RFC 9110, section 12.5.3). Only where it came compressed.
         * @example identity
         */
        AcceptEncoding: "identity";
        /**
         * @description The methods that the path takes (RFC 9110, section 10.2.1). Only with 405.
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
                 * @description Maximum number of animals returned.
                 * @example 20
                 */
                limit?: number;
                /**
                 * @description Returns only animals with that status.
                 * @example available
                 */
                status?: PetStatus;
                /**
                 * @description Where the page begins: opaque, taken from a `next` link, and bound to the `status` filter
                 *     of the request that gave it.
                 */
                cursor?: string;
            };
            header?: never;
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
                    Link: components["headers"]["NextLink"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Pet[];
                };
            };
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
                 * @description Of the caller's own making, such as a UUID, bare or in double quotes (a string of RFC 8941): 1 to 255 characters.
                 *     Another request with it is not done again within `x-idempotency`: it gets the first answer, byte for byte, with
                 *     `Idempotent-Replayed: true`. A 5xx is not kept, nor what is refused before the operation is reached.
                 * @example "8e03978e-40d5-43dd-bc93-6894a57f9324"
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The animal to add. */
        requestBody: {
            content: {
                "application/json": NewPet;
            };
        };
        responses: {
            /** @description The animal as added, with its `id`. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "X-RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "X-RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "X-RateLimit-Reset": components["headers"]["RateLimitReset"];
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
            header?: never;
            path: {
                /**
                 * @description The identifier of the animal.
                 * @example 1
                 */
                petId: PetId;
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
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["SuccessorLink"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Pet;
                };
            };
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
/** @description An animal of the catalogue. */
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
 * @description Unique identifier, assigned by the service on creation.
 */
export type PetId = bigint;
/** @description The animal's name, kept and returned to the letter. */
export type PetName = string;
/**
 * Format: int64
 * @description Identifier of the category the animal belongs to.
 */
export type CategoryId = bigint;
/**
 * @description Availability status.
 * @enum {string}
 */
export type PetStatus = "available" | "pending" | "sold";
/** @description The body of every error. */
export type Error = {
    code: ErrorCode;
    /** @description What is wrong, for a person. Its wording may change. */
    message: string;
    /**
     * Format: int32
     * @description The HTTP status code of the answer.
     */
    status: number;
};
/**
 * @description Machine-readable error code. Codes may be added; treat an unknown one as its status says.
 * @enum {string}
 */
export type ErrorCode = "invalid_request" | "invalid_json" | "malformed_request" | "missing_api_key" | "invalid_api_key" | "pet_not_found" | "route_not_found" | "method_not_allowed" | "request_timeout" | "idempotency_key_in_use" | "body_too_large" | "uri_too_long" | "unsupported_media_type" | "idempotency_key_reused" | "rate_limit_exceeded" | "key_banned" | "headers_too_large" | "internal_error" | "not_implemented" | "unavailable";
