//! The names of `bevy::prelude` that come from crates which the tests do not build, by crate: made from
//! the sources of Bevy 0.19.1.
//!
//! The folder `window` includes this file too, and imports those of the crates that it builds.

bevy_prelude! {
    animation:
        Animatable AnimatableCurve AnimatableCurveEvaluator AnimatableKeyframeCurve
        AnimatableProperty AnimatedField AnimationClip AnimationCompatibleCurve AnimationCurve
        AnimationCurveEvaluator AnimationDiGraph AnimationGraph AnimationGraphAssetLoader
        AnimationGraphHandle AnimationGraphLoadError AnimationGraphNode AnimationGraphSaveError
        AnimationMask AnimationNodeIndex AnimationNodeType AnimationPlayer AnimationPlugin
        AnimationTransition AnimationTransitions BlendInput EvaluatorId NonPathHandleError
        SerializedAnimationGraph SerializedAnimationGraphNode SerializedAnimationNodeType
        ThreadedAnimationGraph ThreadedAnimationGraphs VariableCurve WeightsCurve
        WeightsCurveSample advance_transitions expire_completed_transitions
        interpolate_with_cubic_bezier;
    asset:
        Asset AssetApp AssetChanged AssetEvent AssetId AssetMode AssetPlugin AssetServer Assets
        DirectAssetAccessExt Handle UntypedHandle asset_value;
    audio:
        AudioPlayer AudioSink AudioSinkPlayback AudioSource Decodable GlobalVolume Pitch
        PlaybackSettings SpatialAudioSink SpatialListener;
    camera:
        Camera Camera2d Camera3d ClearColor ClearColorConfig CompositingSpace
        InheritedVisibility MsaaWriteback OrthographicProjection PerspectiveProjection
        Projection ViewVisibility Visibility;
    clipboard:
        Clipboard ClipboardPlugin ClipboardRead;
    color:
        Alpha Color ColorToComponents ColorToPacked Gray HexColorError Hsla Hsva Hue Hwba Laba
        Lcha LinearRgba Luminance Mix Oklaba Oklcha Saturation Srgba Xyza;
    gilrs:
        GilrsPlugin RumbleSystems;
    gizmos:
        AabbGizmoConfigGroup AppGizmoBuilder DefaultGizmoConfigGroup FrustumGizmoConfigGroup
        Gizmo GizmoAsset GizmoConfig GizmoConfigGroup GizmoConfigStore GizmoLineConfig
        GizmoLineJoint GizmoLineStyle GizmoPrimitive2d GizmoPrimitive3d Gizmos ShowAabbGizmo
        ShowFrustumGizmo ShowSkinnedMeshBoundsGizmo SkinnedMeshBoundsGizmoConfigGroup
        TransformGizmoAxis TransformGizmoCamera TransformGizmoFocus TransformGizmoMode
        TransformGizmoPlugin TransformGizmoSettings TransformGizmoSpace TransformGizmoState
        TransformGizmoSystems gizmo;
    gltf:
        Gltf GltfAssetLabel GltfExtras;
    image:
        DynamicTextureAtlasBuilder Image ImageFormat ImagePlugin TextureAtlas
        TextureAtlasBuilder TextureAtlasLayout TextureAtlasSources TextureError;
    light:
        AmbientLight DirectionalLight EnvironmentMapLight GeneratedEnvironmentMapLight
        GlobalAmbientLight LightGizmoColor LightGizmoConfigGroup LightProbe PointLight RectLight
        ShowLightGizmo SpotLight light_consts;
    log:
        debug debug_once debug_span error error_once error_span info info_once info_span once
        trace trace_once trace_span warn warn_once warn_span;
    material:
        AlphaMode;
    mesh:
        Mesh Mesh2d Mesh3d MeshBuilder Meshable MorphWeights;
    pbr:
        ContactShadowsPlugin DistanceFog FogFalloff Material MaterialPlugin MeshMaterial3d
        ParallaxMappingMethod ScreenSpaceAmbientOcclusionPlugin StandardMaterial;
    picking:
        Cancel Click DefaultPickingPlugins Drag DragDrop DragEnd DragEnter DragEntry DragLeave
        DragOver DragStart Enter HoveredEntityAncestors InteractionPlugin Leave
        MeshPickingCamera MeshPickingPlugin MeshPickingSettings MeshRayCast MeshRayCastSettings
        Move Out Over Pickable PickingMessageWriters PickingPlugin Pointer PointerButton
        PointerButtonState PointerInputPlugin PointerState PointerTraversal Press
        RayCastBackfaces RayCastVisibility Release Scroll pointer_events;
    reflect:
        FromReflect Function GetField GetPath GetTupleStructField IntoFunction IntoFunctionMut
        PartialReflect Reflect ReflectAdd ReflectAddAssign ReflectDefault ReflectDeserialize
        ReflectDiv ReflectDivAssign ReflectFromReflect ReflectMul ReflectMulAssign ReflectPath
        ReflectRem ReflectRemAssign ReflectSerialize ReflectSub ReflectSubAssign Struct
        TupleStruct TypePath reflect_trait;
    render:
        ExtractSchedule ManualTextureViews Msaa RenderGraph;
    scene:
        CommandsSceneExt EntityCommandsSceneExt EntityWorldMutSceneExt PatchFromTemplate
        PatchTemplate Scene SceneComponent SceneList ScenePatchInstance SpawnListSystem
        SpawnSystem WorldSceneExt bsn bsn_list on template_value;
    shader:
        Shader;
    sprite:
        BorderRect SliceScaleMode Sprite SpriteImageMode SpriteMesh SpritePickingCamera
        SpritePickingMode SpritePickingPlugin SpritePickingSettings SpriteScalingMode Text2d
        Text2dReader Text2dWriter TextureSlice TextureSlicer;
    sprite_render:
        ColorMaterial MeshMaterial2d SpriteMaterial;
    text:
        Font FontHinting FontSize FontSmoothing FontSource FontStyle FontWeight FontWidth
        Justify LineBreak Strikethrough StrikethroughColor TextColor TextError TextFont
        TextLayout TextSpan Underline UnderlineColor;
    ui:
        AccessibleLabel AlignContent AlignItems AlignSelf AngularColorStop BackgroundColor
        BackgroundGradient BorderColor BorderGradient BorderRadius BorderRect BoxShadow
        BoxSizing Button CalculatedClip ColorStop ComputedNode ComputedUiRenderTargetInfo
        ComputedUiTargetCamera ConicGradient DefaultUiCamera Display FlexDirection FlexWrap
        GlobalZIndex Gradient GridAutoFlow GridPlacement GridPlacementError GridTrack
        GridTrackRepetition IgnoreScroll ImageNode InColorSpace InlineDirection Interaction
        InterpolationColorSpace IsDefaultUiCamera JustifyContent JustifyItems JustifySelf Label
        LayoutConfig LinearGradient MaxTrackSizingFunction MinTrackSizingFunction Node
        NodeImageMode OuterColor Outline Overflow OverflowAxis OverflowClipMargin OverrideClip
        PositionType RadialGradient RadialGradientShape RepeatedGridTrack ResolvedBorderRadius
        ScrollPosition ShadowStyle SliceScaleMode SpriteImageMode Text TextBackgroundColor
        TextShadow TextUiReader TextUiWriter TextureSlicer UiGlobalTransform UiPickingCamera
        UiPickingPlugin UiPickingSettings UiPosition UiRect UiScale UiTargetCamera UiTransform
        Val Val2 ValArithmeticError ValNum ValParseError ViewportNode VisualBox ZIndex auto
        percent px vh vmax vmin vw;
    ui_render:
        BoxShadowSamples GlobalUiDebugOptions MaterialNode UiAntiAlias UiDebugOptions UiMaterial
        UiMaterialKey UiMaterialPlugin;
    window:
        CursorEntered CursorLeft CursorMoved FileDragAndDrop Ime MonitorSelection
        VideoModeSelection Window WindowMoved WindowPlugin WindowPosition
        WindowResizeConstraints;
    world_serialization:
        DynamicWorld DynamicWorldBuilder DynamicWorldRoot WorldAsset WorldAssetRoot WorldFilter
        WorldInstanceSpawner;
}
